/** Svix as its published API describes it: applications, endpoints, event types, in pages with an iterator. */
import { randomBytes } from "node:crypto";
import { type ForeignServer, foreignServer } from "./foreign-server.ts";

export const SVIX_KEY = "testsk_1.eu";

export interface SvixEndpoint {
  id: string;
  uid?: string | null;
  url: string;
  description?: string;
  disabled?: boolean;
  filterTypes?: string[] | null;
  channels?: string[] | null;
  rateLimit?: number | null;
  metadata?: Record<string, string>;
  secret?: { key: string };
  headers?: { headers: Record<string, string>; sensitive: string[] };
  transformation?: { code: string | null; enabled: boolean };
  /** The messages that were attempted. */
  messages?: SvixMessage[];
}

/** A message as an attempt shows it, with `with_msg`. */
export interface SvixMessage {
  readonly id: string;
  readonly eventId: string | null;
  readonly eventType: string;
  readonly payload: unknown;
  readonly timestamp: string;
}

export interface SvixApplication {
  id: string;
  uid?: string | null;
  name: string;
  rateLimit?: number | null;
  endpoints: SvixEndpoint[];
}

export interface SvixType {
  name: string;
  description: string;
  archived?: boolean;
  deprecated?: boolean;
  groupName?: string | null;
  schemas?: Record<string, object> | null;
}

export interface Svix {
  readonly applications: SvixApplication[];
  readonly eventTypes: SvixType[];
}

export function svixSecret(bytes = 24): string {
  return `whsec_${randomBytes(bytes).toString("base64")}`;
}

let made = 0;

/** An id in the form of a KSUID, as Svix makes them. */
export function svixId(prefix: "app" | "ep"): string {
  return `${prefix}_1srOrx2ZWZBpBUvZwXK${String(made++).padStart(8, "0")}`;
}

export function svixEndpoint(url: string, more: Partial<SvixEndpoint> = {}): SvixEndpoint {
  return {
    id: svixId("ep"),
    uid: null,
    url,
    description: "",
    disabled: false,
    filterTypes: null,
    channels: null,
    rateLimit: null,
    metadata: {},
    secret: { key: svixSecret() },
    headers: { headers: {}, sensitive: [] },
    ...more,
  };
}

/** `page` is the most rows of a page, however many are asked for. */
export function serveSvix({ applications, eventTypes }: Svix, page = 250): Promise<ForeignServer> {
  return foreignServer(SVIX_KEY, ({ pathname, searchParams }) => {
    const listed = <T extends { readonly id?: string; readonly name?: string }>(rows: readonly T[]) => {
      const nameOf = (row: T) => row.id ?? row.name;
      const after = searchParams.get("iterator");
      const from = after === null ? 0 : rows.findIndex((row) => nameOf(row) === after) + 1;
      const data = rows.slice(from, from + Math.min(page, Number(searchParams.get("limit") ?? 50)));
      const last = data.at(-1);
      const iterator = last === undefined ? after : nameOf(last);
      return { data, iterator, prevIterator: null, done: from + data.length >= rows.length };
    };
    if (pathname === "/api/v1/event-type") {
      const isWhole = searchParams.get("with_content") === "true";
      const rows = eventTypes.filter(({ archived }) => searchParams.get("include_archived") === "true" || !archived);
      return listed(rows.map((row) => (isWhole ? row : { ...row, schemas: null })));
    }
    const [app, word, endpoint, part] = pathname.replace(/^\/api\/v1\/app\/?/, "").split("/");
    if (!app) return listed(applications.map((row) => ({ ...row, endpoints: undefined })));
    const endpoints = applications.find(({ id, uid }) => app === id || app === uid)?.endpoints;
    if (endpoints === undefined) return null;
    if (word === "attempt") {
      const messages = endpoints.find(({ id, uid }) => part === id || part === uid)?.messages ?? [];
      const [after, before] = [searchParams.get("after") ?? "", searchParams.get("before") ?? "~"];
      const within = messages.filter(({ timestamp }) => timestamp >= after && timestamp <= before);
      return listed(
        within.map((msg, at) => ({ id: `atmpt_${at}`, msgId: msg.id, status: 0, timestamp: msg.timestamp, msg })),
      );
    }
    if (word !== "endpoint") return null;
    if (endpoint === undefined)
      return listed(
        endpoints.map((row) => ({
          ...row,
          secret: undefined,
          headers: undefined,
          transformation: undefined,
          messages: undefined,
        })),
      );
    const found = endpoints.find(({ id, uid }) => endpoint === id || endpoint === uid);
    if (found === undefined || (part !== "secret" && part !== "headers" && part !== "transformation")) return null;
    return found[part] ?? null;
  });
}
