/** The interface describing itself: OpenAPI for programs, a page for people. */
import * as v from "valibot";
import type { EventType } from "../../domain/events/event-type.ts";
import type { ApiParts } from "../parts.ts";
import { type Route, type Operation } from "../pipeline/route.ts";
import { jsonText, type Reply } from "../pipeline/reply.ts";
import { AnyObject } from "../pipeline/shapes.ts";

export const getDescription: Operation = {
  id: "getDescription",
  tag: "Daemon",
  summary: "Read this description as OpenAPI 3.1",
  replies: { 200: { description: "The description.", schema: AnyObject, example: { openapi: "3.1.0" } } },
};

export const readDocs: Operation = {
  id: "readDocs",
  tag: "Daemon",
  summary: "Read this description as a page",
  description:
    "One HTML page without scripts or external resources: save it and open it anywhere. With `[server] docs` = `key` it asks for an API key first.",
  replies: {
    200: {
      description: "The page.",
      schema: v.string(),
      example: "<!doctype html>…",
      type: "text/html; charset=utf-8",
    },
  },
};

type Answers = Record<"document" | "page" | "keyPage", Reply>;

const readClosedDocs: Operation = {
  ...readDocs,
  id: "readClosedDocs",
  summary: "Read this description as a page, with a key",
  description: "The page that `/docs` shows once you have entered a key, with `[server] docs` = `key`.",
};

function html(body: string, policy: string): Reply {
  const headers = [
    ["content-security-policy", policy],
    ["referrer-policy", "no-referrer"],
    ["x-content-type-options", "nosniff"],
  ] as const;
  return { status: 200, type: "text/html; charset=utf-8", body, headers };
}

/** `routes` is asked for once all of them are known, these two included. */
export function descriptionRoutes({ catalogue, config, version }: ApiParts, routes: () => readonly Route[]): Route[] {
  let made: { of: readonly EventType[]; answers: Promise<Answers> } | undefined;

  /** Made anew when the catalogue has changed; the rest of it does not while the daemon runs. */
  const answers = () => {
    const of = [...catalogue.types.values()];
    if (made?.of.length !== of.length || of.some((type, index) => type !== made!.of[index])) {
      made = { of, answers: make() };
    }
    return made.answers;
  };

  /** Few processes are ever asked, so neither the generator nor its libraries are loaded at the start. */
  const make = async (): Promise<Answers> => {
    const [{ openapi }, { page, KEY_PAGE, KEY_PAGE_POLICY, PAGE_POLICY }] = await Promise.all([
      import("./document.ts"),
      import("./page.ts"),
    ]);

    const document = openapi({
      routes: routes(),
      types: catalogue.types.values(),
      version,
      signature: config.signature,
      retry: config.retry,
    });
    return {
      document: jsonText(200, JSON.stringify(document)),
      page: html(page(document), PAGE_POLICY),
      keyPage: html(KEY_PAGE, KEY_PAGE_POLICY),
    };
  };

  const at = (path: string, access: "any" | "open", operation: Operation, what: keyof Answers): Route => {
    return { method: "GET", path, access, reach: "all", operation, handle: async () => (await answers())[what] };
  };
  if (config.server.docs === "open") {
    return [at("/openapi.json", "open", getDescription, "document"), at("/docs", "open", readDocs, "page")];
  }
  return [
    at("/openapi.json", "any", getDescription, "document"),
    at("/docs", "open", readDocs, "keyPage"),
    at("/docs/description", "any", readClosedDocs, "page"),
  ];
}
