/** Serves the portal's page: its HTML, and the script and style, whose names contain a hash of their content. */
import * as v from "valibot";
import type { ApiParts } from "../parts.ts";
import { type Header, notFound, type Reply } from "../pipeline/reply.ts";
import type { Representation } from "../pipeline/representation.ts";
import { type Call, IF_NONE_MATCH, type Operation, type Route, UNCHANGED } from "../pipeline/route.ts";

const PAGE = "/portal";
/**
 * Redirects `/portal/`, where the page's relative links would break. The redirect is relative, because a proxy may
 * serve the page under a path.
 */
const TO_PAGE: Reply = { status: 308, type: "text/plain", body: "", headers: [["location", "../portal"]] };

export const readPortal: Operation = {
  id: "readPortal",
  isPage: true,
  tag: "Keys",
  summary: "Open the portal",
  description: "The page itself, without any data: it fetches the data with the key in its link.",
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

export const readPortalFile: Operation = {
  id: "readPortalFile",
  isPage: true,
  tag: "Keys",
  summary: "Load a part of the portal",
  description:
    "A script or a style sheet. Its name is derived from its contents, so a file with this name never changes.",
  params: { file: "" },
  headers: IF_NONE_MATCH,
  replies: {
    200: {
      description: "The file.",
      schema: v.string(),
      example: "…",
      type: "text/javascript; charset=utf-8",
      headers: ["etag"],
    },
    304: UNCHANGED,
  },
  problems: ["not_found"],
};

export function portalPageRoutes(parts: ApiParts): Route[] {
  let loaded: Promise<ReadonlyMap<string, Representation>> | undefined;
  /** Loaded at the first request, because most processes never serve the portal. */
  const load = async () => {
    const [{ portalFiles }, { Representation }] = await Promise.all([
      import("../../portal/files.ts"),
      import("../pipeline/representation.ts"),
    ]);
    const kept = (await portalFiles()).map(({ path, type, body, br, gzip }) => {
      return [path, new Representation(type, { identity: body, br, gzip })] as const;
    });
    return new Map(kept);
  };
  const serve = async (path: string, { headers }: Call): Promise<Reply> => {
    const file = (await (loaded ??= load())).get(path);
    if (file === undefined) throw notFound();
    const always: Header[] = [
      ["content-security-policy", policyOf(parts)],
      ["referrer-policy", "no-referrer"],
      ["x-content-type-options", "nosniff"],
      ["cross-origin-resource-policy", "same-origin"],
    ];
    // The HTML names the current files, so browsers must ask for it each time.
    const cache = path === PAGE ? "no-cache" : "public, max-age=31536000, immutable";
    return file.reply(headers, { cache, headers: always });
  };
  return [
    {
      method: "GET",
      path: PAGE,
      access: "open",
      operation: readPortal,
      query: "any",
      handle: (call) => (call.path.endsWith("/") ? TO_PAGE : serve(PAGE, call)),
    },
    {
      method: "GET",
      path: `${PAGE}/:file`,
      access: "open",
      operation: readPortalFile,
      query: "any",
      handle: (call) => serve(`${PAGE}/${call.params.file}`, call),
    },
  ];
}

/**
 * Returns a content security policy: only our own script and style run, only the logo and the font come from elsewhere, and
 * only configured sites may frame the page.
 */
function policyOf({ portal }: ApiParts): string {
  const { logoUrl, fontUrl, frameAncestors } = portal();
  const ancestors = frameAncestors.length === 0 ? "'none'" : frameAncestors.join(" ");
  return (
    `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'${andHostOf(logoUrl)}; ` +
    `font-src 'self'${andHostOf(fontUrl)}; connect-src 'self'; base-uri 'none'; form-action 'none'; ` +
    `frame-ancestors ${ancestors}`
  );
}

function andHostOf(url: string): string {
  return url === "" ? "" : ` ${new URL(url).origin}`;
}
