/** API keys as callers ask for and see them. */
import * as v from "valibot";
import { parseInstant, formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { SCOPES, type ApiKey } from "../../domain/keys/key.ts";
import { isTenant } from "../../domain/tenant.ts";
import { EVERY_TENANT } from "../pipeline/access.ts";
import type { Operation } from "../pipeline/route.ts";
import { line, described, id, Instant, pageSchema, titled, aPageOf } from "../pipeline/shapes.ts";

export const KeyDraft = titled(
  "KeyDraft",
  v.strictObject({
    name: v.optional(line(64), ""),
    scopes: v.pipe(
      v.array(v.picklist(SCOPES)),
      v.minLength(1, "too_few: must name at least one scope"),
      v.check((scopes) => new Set(scopes).size === scopes.length, "invalid_type: must name each scope once"),
      v.metadata({ uniqueItems: true }),
    ),
    tenant: v.optional(
      v.pipe(
        described(
          v.string(),
          "The tenant whose data it opens, `*` for every tenant. By default that of the calling key, or `default`.",
        ),
        v.check((name) => name === EVERY_TENANT || isTenant(name), "forbidden_char: must be a tenant's name or *"),
      ),
    ),
    expires_at: v.optional(
      v.nullable(
        v.pipe(
          v.string(),
          v.metadata({ format: "date-time" }),
          v.check((text) => parseInstant(text) !== null, "invalid_type: must be an RFC 3339 instant"),
          v.transform((text) => parseInstant(text)!),
        ),
      ),
      null,
    ),
  }),
);

const SHOWN = {
  id: id("key"),
  name: v.string(),
  scopes: v.array(v.picklist(SCOPES)),
  tenant: described(v.string(), "A tenant's name, or `*` for every tenant."),
  created_at: Instant,
  expires_at: v.nullable(Instant),
  last_used_at: described(v.nullable(Instant), "Accurate to the minute."),
  revoked_at: v.nullable(Instant),
};

export const Key = titled("Key", v.object(SHOWN));

export const CreatedKey = titled(
  "CreatedKey",
  v.object({ ...SHOWN, key: described(v.string(), "The key itself: shown here and never again.") }),
);

export const KeyPage = pageSchema(Key);

export const LastAdminKey = titled(
  "LastAdminKey",
  v.object({
    id: id("key"),
    note: described(v.string(), "Says that no admin key for every tenant is left, and how to get in now."),
  }),
);

export const aLastAdminKey = {
  id: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  note: "no admin key for every tenant is left; the unix socket /run/webhookd/webhookd.sock needs none",
};

export const aKey = {
  id: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  name: "billing service",
  scopes: ["publish"],
  tenant: "default",
  created_at: "2026-11-20T09:45:00.000Z",
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
};

export function presentKey(key: Omit<ApiKey, "hash">) {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    tenant: key.tenant,
    created_at: formatInstant(key.createdAt),
    expires_at: formatInstantOrNull(key.expiresAt),
    last_used_at: formatInstantOrNull(key.lastUsedAt),
    revoked_at: formatInstantOrNull(key.revokedAt),
  };
}

const params = { id: "key" };

export const listKeys: Operation = {
  id: "listKeys",
  tag: "Keys",
  summary: "List keys",
  replies: {
    200: {
      description: "A page of keys, without the secret part.",
      schema: KeyPage,
      example: aPageOf(aKey),
      headers: ["link"],
    },
  },
};

export const createKey: Operation = {
  id: "createKey",
  tag: "Keys",
  summary: "Create a key",
  description: "Only this answer has `key`; it is stored as a hash.",
  example: { name: aKey.name, scopes: aKey.scopes },
  replies: {
    201: {
      description: "The key can be used.",
      schema: CreatedKey,
      example: { ...aKey, key: `whk_${aKey.id.slice(4)}_${"x".repeat(52)}` },
      headers: ["location"],
    },
  },
  problems: ["already_created"],
};

export const getKey: Operation = {
  id: "getKey",
  tag: "Keys",
  summary: "Look at one key",
  params,
  replies: { 200: { description: "The key, without its secret part.", schema: Key, example: aKey } },
};

export const revokeKey: Operation = {
  id: "revokeKey",
  tag: "Keys",
  summary: "Revoke a key",
  description: "It stops working with this answer. Nobody is locked out: the unix socket needs no key.",
  params,
  replies: {
    200: {
      description: "It is revoked, and was the last admin key for every tenant.",
      schema: LastAdminKey,
      example: aLastAdminKey,
    },
    204: { description: "It is revoked." },
  },
};
