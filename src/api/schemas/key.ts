/** API keys as callers ask for and see them. */
import * as v from "valibot";
import { SCOPES } from "../../domain/key.ts";
import { line } from "../endpoint-schema.ts";
import { parseInstant } from "../instant.ts";
import { isTenant } from "../../domain/tenant.ts";
import { EVERY_TENANT } from "../tenant.ts";
import { described, id, Instant, pageOf, titled } from "./wire.ts";

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
          "Whose data it opens, `*` for every tenant's; without it, that of the key that asks, or `default`.",
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
  last_used_at: described(v.nullable(Instant), "To the minute."),
  revoked_at: v.nullable(Instant),
};

export const Key = titled("Key", v.object(SHOWN));

export const CreatedKey = titled(
  "CreatedKey",
  v.object({ ...SHOWN, key: described(v.string(), "The key itself: shown here and never again.") }),
);

export const KeyPage = pageOf(Key);

export const LastAdminKey = titled(
  "LastAdminKey",
  v.object({
    id: id("key"),
    note: described(v.string(), "That no admin key for every tenant is left, and what the way in is now."),
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
