/** A row of the table of API keys. */
import type { ApiKey, PortalLink, Scope } from "../../domain/caller.ts";
import { WebhookdError } from "../../domain/errors.ts";

export interface KeyRow {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly hash: Buffer;
  readonly scopes: string;
  readonly tenant: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
  readonly portal: string | null;
}

/** Converts the row to the key that the rest of the program uses, for both stores. */
export function keyOf(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    hash: row.hash,
    scopes: JSON.parse(row.scopes) as Scope[],
    tenant: row.tenant,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    portal: row.portal === null ? null : (JSON.parse(row.portal) as PortalLink),
  };
}

/** Refuses a link whose request began before the key was revoked, because the link would outlive the key. */
export function madeByRevoked(): WebhookdError {
  return new WebhookdError("unauthorized", "the key that requested the link has been revoked; use another one");
}
