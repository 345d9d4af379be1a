/**
 * Checks that the names in a path, a filter or a body exist, because a typing error would otherwise look like an empty
 * list. For the caller, other tenants' objects do not exist.
 */
import * as v from "valibot";
import type { FieldCode } from "../../domain/errors.ts";
import { idPattern, isId } from "../../domain/id.ts";
import type { Names, Store } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, oneTenantOf } from "./access.ts";
import { notFound } from "./reply.ts";
import { invalidQuery } from "./query.ts";
import type { Call } from "./route.ts";
import { unknownType, validationFailed } from "./body.ts";

/** An endpoint in a body. */
export const EndpointWithDelivery = v.pipe(
  v.string(),
  v.check((text) => isId("ep", text), "invalid_type: is not an id of the form ep_…"),
  v.metadata({ pattern: idPattern("ep").source }),
);

/** Throws `validation_failed` if the event has no delivery to the endpoint that the body names. */
export async function requireDelivery(
  store: ApiParts["store"],
  tenant: string | null,
  event: string,
  endpoint: string | undefined,
): Promise<void> {
  if (endpoint === undefined) return;
  const page = await store.reads.listDeliveries({ tenant, event, endpoint, limit: 1, order: "newest" });
  if (page.data.length > 0 || page.nextCursor !== null) return;
  const detail = "has no delivery of this event: GET the event to see which endpoints have one";
  throw validationFailed([{ pointer: "/endpoint", code: "unknown_endpoint", detail }]);
}

export interface UnknownName {
  readonly name: Exclude<keyof Names, "tenant">;
  readonly code: FieldCode;
  readonly detail: string;
}

type NamedFilters = Pick<Names, "endpoint" | "event"> & { readonly type?: string | readonly string[] | undefined };
type Parts = Pick<ApiParts, "store" | "catalogue">;

/**
 * Returns null if everything named exists or existed once. A type that left the configuration still has its history.
 */
export async function unknownName(
  { store, catalogue: { types } }: Parts,
  tenant: string | null,
  { type, endpoint, event }: NamedFilters,
): Promise<UnknownName | null> {
  for (const each of [type ?? []].flat()) {
    // In PostgreSQL no text contains a NUL, and a query with one fails.
    const mayBe = !each.includes("\0");
    const isKnown = types.has(each) || (mayBe && (await store.reads.unknownName(tenant, { type: each })) === null);
    if (!isKnown) return { name: "type", code: "unknown_event_type", detail: unknownType(each, types) };
  }
  if (endpoint === undefined && event === undefined) return null;
  switch (await store.reads.unknownName(tenant, { endpoint, event })) {
    case "endpoint":
      return { name: "endpoint", code: "unknown_endpoint", detail: "is not an endpoint that this key may see" };
    case "event":
      return { name: "event", code: "unknown_event", detail: "is not an event that this key may see, or was removed" };
    default:
      return null;
  }
}

/** Throws `invalid_query` if a name is unknown. */
export async function requireNames(parts: Parts, tenant: string | null, names: NamedFilters): Promise<void> {
  const unknown = await unknownName(parts, tenant, names);
  if (unknown !== null) throw invalidQuery(unknown.name, unknown.detail, unknown.code);
}

const UID = "uid:";

/**
 * Returns the id of the endpoint in the path, given as an id or as `uid:` and the name that its owner chose. Throws
 * `not_found` for an unknown uid.
 */
export async function endpointId(
  store: Pick<Store, "endpoints">,
  call: Pick<Call, "params" | "principal" | "query" | "isAbout">,
): Promise<string> {
  const { id = "" } = call.params;
  if (isId("ep", id)) return id;
  const uid = uidOf(call);
  if (uid === null) throw notFound();
  const endpoint = await store.endpoints.idOf(oneTenantOf(call.principal, namedTenant(call.query)), uid);
  if (endpoint === null) throw notFound();
  call.isAbout(endpoint);
  return endpoint;
}

/** Returns null if the path has no uid. */
export function uidOf({ params: { id = "" } }: Pick<Call, "params">): string | null {
  if (!id.startsWith(UID)) return null;
  try {
    // The router leaves escapes as they are, so that a slash in a name does not split the path.
    const uid = decodeURIComponent(id.slice(UID.length));
    // No uid contains a NUL.
    return uid.includes("\0") ? null : uid;
  } catch {
    return null;
  }
}
