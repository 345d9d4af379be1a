/** An API key: `whk_<id>_<secret>`, shown once, stored hashed, with scopes, a tenant and an optional expiry. */

export const SCOPES = ["publish", "read", "manage", "secrets", "metrics", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export interface NewApiKey {
  /** `key_…`; the token holds the same 26 characters. */
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the token's secret part: 256 random bits need no slow hash (ASVS 6.5.2). */
  readonly hash: Uint8Array;
  readonly scopes: readonly Scope[];
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly expiresAt: number | null;
}

export interface ApiKey extends NewApiKey {
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** Whether the key opens something at that instant. */
export function isUsable({ revokedAt, expiresAt }: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}
