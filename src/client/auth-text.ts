/** Words for the auth of an endpoint, without its secrets, which no answer has. */
import type { Endpoint } from "./operations.ts";

/** Says in a line what the receiver asks for. Null if it asks for nothing. An older daemon does not report it. */
export function authText({ auth }: Partial<Pick<Endpoint, "auth">>): string | null {
  switch (auth?.type) {
    case undefined:
      return null;
    case "basic":
      return `basic, user ${auth.username}`;
    case "bearer":
      return "bearer token";
    case "oauth2":
      return `oauth2, client ${auth.client_id} at ${auth.token_url}${auth.scope === null ? "" : `, scope ${auth.scope}`}`;
    case "mtls":
      return `client certificate ${auth.subject}, until ${auth.not_after}, SHA-256 ${auth.fingerprint}`;
  }
}
