/** Changing an endpoint only if it still is what the caller saw (RFC 9110 13.1): ETag, If-Match, If-None-Match. */
import type { Endpoint } from "../../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import type { Call } from "../pipeline/route.ts";
import type { Header } from "../pipeline/reply.ts";

const CHANGED = "the endpoint has changed since you read it, or is gone: GET it again, and send its ETag in If-Match";
const THERE = "the endpoint is there already: leave If-None-Match out to replace it";

export function etagOf({ revision }: Endpoint): Header {
  return ["etag", `"${revision}"`];
}

/** Throws `precondition_failed`. To be asked where nothing can change the endpoint meanwhile; null: there is none. */
export function requireMatch({ headers }: Call, endpoint: Endpoint | null): void {
  const isNamed = (list: string) => endpoint !== null && names(list, endpoint.revision);
  const match = headers["if-match"];
  if (match !== undefined && !isNamed(match)) throw new WebhookdError("precondition_failed", CHANGED);
  const none = headers["if-none-match"];
  if (none !== undefined && isNamed(none)) throw new WebhookdError("precondition_failed", THERE);
}

/** Compared strongly: a weak tag names nothing. */
function names(list: string, revision: string): boolean {
  return list.trim() === "*" || list.split(",").some((tag) => tag.trim() === `"${revision}"`);
}
