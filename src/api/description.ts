/** The interface describing itself: OpenAPI for programs, a page for people. */
import type { EventType } from "../domain/event-type.ts";
import { getDescription, readDocs } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { jsonText, type Reply, type Route } from "./route.ts";

/** `routes` is asked for once all of them are known, these two included. */
export function descriptionRoutes(
  { config, version }: Pick<ApiParts, "config" | "version">,
  types: ReadonlyMap<string, EventType>,
  routes: () => readonly Route[],
): Route[] {
  let made: { of: readonly EventType[]; answers: Promise<{ document: Reply; page: Reply }> } | undefined;

  /** Made anew when the catalogue has changed; the rest of it does not while the daemon runs. */
  const answers = () => {
    const of = [...types.values()];
    if (made?.of.length !== of.length || of.some((type, index) => type !== made!.of[index])) {
      made = { of, answers: make() };
    }
    return made.answers;
  };

  /** Few processes are ever asked, so neither the generator nor its libraries are loaded at the start. */
  const make = async () => {
    const [{ openapi }, { page, PAGE_POLICY }] = await Promise.all([
      import("./openapi/document.ts"),
      import("./openapi/page.ts"),
    ]);
    const document = openapi({ routes: routes(), types: types.values(), version, signature: config.signature });
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
