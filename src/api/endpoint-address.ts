/** Which endpoint a path names: by its id, or by `uid:` and the `uid` that its registrant gave it. */
import { isId } from "../domain/id.ts";
import type { Store } from "../store/store.ts";
import { notFound } from "./pipeline/problem.ts";
import type { Call } from "./pipeline/route.ts";
import { namedTenant, oneTenantOf } from "./pipeline/access.ts";

const UID = "uid:";

/** Of an endpoint that is there, if a uid names it. */
export async function endpointId(store: Pick<Store, "endpoints">, call: Call): Promise<string> {
  const { id = "" } = call.params;
  if (isId("ep", id)) return id;
  const uid = uidOf(call);
  if (uid === null) throw notFound();
  const endpoint = await store.endpoints.idOf(oneTenantOf(call.principal, namedTenant(call.query)), uid);
  if (endpoint === null) throw notFound();
  call.isAbout(endpoint);
  return endpoint;
}

/** Null where the path names none. */
export function uidOf({ params: { id = "" } }: Call): string | null {
  if (!id.startsWith(UID)) return null;
  try {
    // The router leaves escapes as they are, so that a slash in a name is none of the path's.
    return decodeURIComponent(id.slice(UID.length));
  } catch {
    return null;
  }
}
