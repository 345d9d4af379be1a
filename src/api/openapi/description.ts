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
  description: "One HTML page without scripts or external resources: save it and open it anywhere.",
  replies: {
    200: {
      description: "The page.",
      schema: v.string(),
      example: "<!doctype html>…",
      type: "text/html; charset=utf-8",
    },
  },
};

/** `routes` is asked for once all of them are known, these two included. */
export function descriptionRoutes({ catalogue, config, version }: ApiParts, routes: () => readonly Route[]): Route[] {
  let made: { of: readonly EventType[]; answers: Promise<{ document: Reply; page: Reply }> } | undefined;

  /** Made anew when the catalogue has changed; the rest of it does not while the daemon runs. */
  const answers = () => {
    const of = [...catalogue.types.values()];
    if (made?.of.length !== of.length || of.some((type, index) => type !== made!.of[index])) {
      made = { of, answers: make() };
    }
    return made.answers;
  };

  /** Few processes are ever asked, so neither the generator nor its libraries are loaded at the start. */
  const make = async () => {
    const [{ openapi }, { page, PAGE_POLICY }] = await Promise.all([import("./document.ts"), import("./page.ts")]);

    const document = openapi({
      routes: routes(),
      types: catalogue.types.values(),
      version,
      signature: config.signature,
    });
    return {
      document: jsonText(200, JSON.stringify(document)),
      page: {
        status: 200,
        type: "text/html; charset=utf-8",
        body: page(document),
        headers: [
          ["content-security-policy", PAGE_POLICY],
          ["x-content-type-options", "nosniff"],
        ] as const,
      },
    };
  };

  return [
    {
      method: "GET",
      path: "/openapi.json",
      access: "any",
      operation: getDescription,
      handle: async () => (await answers()).document,
    },
    {
      method: "GET",
      path: "/docs",
      access: "any",
      operation: readDocs,
      handle: async () => (await answers()).page,
    },
  ];
}
