/** Routes that describe the API: OpenAPI for programs, an HTML page for people. */
import * as v from "valibot";
import type { EventType } from "../../domain/events/event-type.ts";
import type { ApiParts } from "../parts.ts";
import { IF_NONE_MATCH, type Operation, type Route, UNCHANGED } from "../pipeline/route.ts";
import type { Header } from "../pipeline/reply.ts";
import type { Caching, Representation } from "../pipeline/representation.ts";
import { AnyObject } from "../pipeline/shapes.ts";

export const getDescription: Operation = {
  id: "getDescription",
  tag: "Daemon",
  summary: "Read this description as OpenAPI 3.1",
  description:
    "Made from the routes that answer and from the event types there are now. It needs no key unless `[server] docs` is `key`.",
  headers: IF_NONE_MATCH,
  replies: {
    200: { description: "The description.", schema: AnyObject, example: { openapi: "3.1.0" }, headers: ["etag"] },
    304: UNCHANGED,
  },
};

export const readDocs: Operation = {
  id: "readDocs",
  isPage: true,
  tag: "Daemon",
  summary: "Read this description as a page",
  description:
    "One HTML page without external resources: save it and open it anywhere. With `[server] docs` = `key` it asks for an API key first.",
  headers: IF_NONE_MATCH,
  replies: {
    200: {
      description: "The page.",
      schema: v.string(),
      example: "<!doctype html>…",
      type: "text/html; charset=utf-8",
      headers: ["etag"],
    },
    304: UNCHANGED,
  },
};

type Document = "document" | "page" | "keyPage";
interface Kept {
  readonly representation: Representation;
  readonly headers: readonly Header[];
}

const readClosedDocs: Operation = {
  ...readDocs,
  id: "readClosedDocs",
  summary: "Read this description as a page, with a key",
  description: "The page that `/docs` shows once you have entered a key, with `[server] docs` = `key`.",
};

function pageHeaders(policy: string): readonly Header[] {
  return [
    ["content-security-policy", policy],
    ["referrer-policy", "no-referrer"],
    ["x-content-type-options", "nosniff"],
  ];
}

const HTML = "text/html; charset=utf-8";
/** Browsers keep it but ask each time, because an upgrade or a new event type changes it. */
const OPEN_CACHE = "no-cache";
const CLOSED_CACHE = "private, no-cache";

function examplesOf(routes: readonly Route[]): Map<string, Record<string, unknown>> {
  return new Map(
    routes.map(({ operation: { id, replies } }) => [
      id,
      Object.fromEntries(Object.entries(replies).map(([status, { example }]) => [status, example])),
    ]),
  );
}

/** `routes` is called only when all routes are known, including these two. */
export function descriptionRoutes({ catalogue, config, version }: ApiParts, routes: () => readonly Route[]): Route[] {
  let made: { of: readonly EventType[]; answers: Promise<Record<Document, Kept>> } | undefined;

  /** Rebuilds the documents if the event types have changed. Nothing else in them changes while the daemon runs. */
  const answers = () => {
    const of = [...catalogue.types.values()];
    if (made?.of.length !== of.length || of.some((type, index) => type !== made!.of[index])) {
      made = { of, answers: make() };
    }
    return made.answers;
  };

  /** Most processes never get this request, so the generator and its libraries are loaded only when needed. */
  const make = async (): Promise<Record<Document, Kept>> => {
    const [{ openapi }, { page, KEY_PAGE }, { KEY_PAGE_POLICY, PAGE_POLICY }, { Representation }] = await Promise.all([
      import("./document.ts"),
      import("./page.ts"),
      import("./page-parts.ts"),
      import("../pipeline/representation.ts"),
    ]);

    const all = routes();
    const document = openapi({
      routes: all,
      types: catalogue.types.values(),
      version,
      signature: config.signature,
      retry: config.retry,
    });
    const [described, shown, asking] = await Promise.all([
      Representation.of("application/json", JSON.stringify(document)),
      Representation.of(HTML, page(document, examplesOf(all))),
      Representation.of(HTML, KEY_PAGE),
    ]);
    return {
      document: { representation: described, headers: [] },
      page: { representation: shown, headers: pageHeaders(PAGE_POLICY) },
      keyPage: { representation: asking, headers: pageHeaders(KEY_PAGE_POLICY) },
    };
  };

  const at = (path: string, access: "any" | "open", operation: Operation, what: Document): Route => {
    const cache = access === "open" ? OPEN_CACHE : CLOSED_CACHE;
    const handle: Route["handle"] = async ({ headers: asked }) => {
      const { representation, headers } = (await answers())[what];
      return representation.reply(asked, { cache, headers } satisfies Caching);
    };
    return { method: "GET", path, access, reach: "all", operation, handle };
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
