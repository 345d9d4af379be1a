/** API keys as callers see them. */
import * as v from "valibot";
import { SCOPES } from "../../domain/key.ts";
import { described, id, Instant, pageOf, titled } from "./wire.ts";

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
