/** Routes that create, list and revoke API keys. Only the answer that creates a key contains its token. */
import * as v from "valibot";
import type { Config } from "../../config.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { isId, newId, isTenant, EVERY_TENANT } from "../../domain/id.ts";
import { type ApiKey, SCOPES, createToken, hashSecret, parseToken } from "../../domain/caller.ts";
import { formatInstant, formatInstantOrNull, parseInstant } from "../../domain/time/instant.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, oneTenant, TenantParameter, tenantToRead, tenantToWrite } from "../pipeline/access.ts";
import { listParameters, listQuery, pageReply } from "../pipeline/lists.ts";
import { json, NO_CONTENT, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { aPageOf, described, id, Instant, line, pageSchema, titled } from "../pipeline/shapes.ts";
import { readJson, validationFailed } from "../pipeline/body.ts";

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
          "The tenant whose data it can access, or `*` for every tenant. By default the tenant of the calling key, or `default`.",
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
  portal: described(
    v.nullable(
      v.object({
        endpoints: v.nullable(v.array(id("ep"))),
        return_url: v.nullable(v.string()),
        made_by: v.nullable(id("key")),
      }),
    ),
    "For a portal link: the endpoints that it is limited to, the URL that its page links back to, and the key that created it. Null for any other key.",
  ),
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
    note: described(v.string(), "A warning that no admin key for every tenant is left, and how to get access now."),
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
  portal: null,
};

export function presentKey({ portal, ...key }: Omit<ApiKey, "hash">) {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    tenant: key.tenant,
    created_at: formatInstant(key.createdAt),
    expires_at: formatInstantOrNull(key.expiresAt),
    last_used_at: formatInstantOrNull(key.lastUsedAt),
    revoked_at: formatInstantOrNull(key.revokedAt),
    portal: portal && { endpoints: portal.endpoints, return_url: portal.returnUrl, made_by: portal.madeBy },
  };
}

const params = { id: "key" };

export const listKeys: Operation = {
  id: "listKeys",
  tag: "Keys",
  summary: "List keys",
  description:
    "The keys themselves are never shown again. Revoked and expired keys stay listed for as long as they are kept.",
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
  description: "Only this response contains `key`; the daemon stores a hash of it.",
  example: { name: aKey.name, scopes: aKey.scopes },
  replies: {
    201: {
      description: "The key was created.",
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
  summary: "Get a key",
  description: "What it may do, for which tenant, and when it was last used.",
  params,
  replies: { 200: { description: "The key, without its secret part.", schema: Key, example: aKey } },
};

export const revokeKey: Operation = {
  id: "revokeKey",
  tag: "Keys",
  summary: "Revoke a key",
  description:
    "The key stops working as soon as this call returns, and so do the portal links that it created. You cannot lock yourself out, because the unix socket needs no key.",
  params,
  replies: {
    200: {
      description: "The key was revoked. It was the last admin key for every tenant.",
      schema: LastAdminKey,
      example: aLastAdminKey,
    },
    204: { description: "The key was revoked." },
  },
};

const PATH = "/v1/keys";

/** A repeat is refused, because the token is stored nowhere. */
export function createdBefore(_call: Call, id: string): never {
  throw new WebhookdError(
    "already_created",
    `this request already created ${id}; if you do not have that key, revoke it`,
  );
}

export function keyRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: PATH,
      access: "admin",
      query: listParameters("keys"),
      operation: listKeys,
      handle: (call) => list(parts, call),
    },
    {
      method: "POST",
      path: PATH,
      access: "admin",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: KeyDraft },
      audit: "key.create",
      growth: { grows: 450, kept: "[retention] audit" },
      operation: createKey,
      again: createdBefore,
      handle: (call) => create(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "admin",
      query: [TenantParameter],
      operation: getKey,
      handle: async (call) => json(200, presentKey(await found(parts, call))),
    },
    {
      method: "DELETE",
      path: `${PATH}/:id`,
      access: "admin",
      query: [TenantParameter],
      audit: "key.revoke",
      growth: { grows: 250, kept: "[retention] audit" },
      operation: revokeKey,
      handle: (call) => revoke(parts, call),
    },
  ];
}

async function create({ store, random }: ApiParts, { principal, query, body, now, request }: Call): Promise<Reply> {
  const given = readJson(body, KeyDraft);
  if (given.expires_at !== null && given.expires_at <= now) {
    throw validationFailed([{ pointer: "/expires_at", code: "out_of_range", detail: "must be in the future" }]);
  }
  const { id, token, hash } = newToken(random, now);
  const key = {
    id,
    name: given.name,
    hash,
    scopes: given.scopes,
    tenant: tenantToWrite(principal, oneTenant(namedTenant(query), given.tenant, "/tenant")),
    expiresAt: given.expires_at,
  };
  await store.keys.add(key, now, request && { ...request, answer: () => id });
  const shown = presentKey({ ...key, createdAt: now, lastUsedAt: null, revokedAt: null, portal: null });
  return json(201, { ...shown, key: token }, [["location", `${PATH}/${id}`]]);
}

export function newToken(random: ApiParts["random"], now: number) {
  const id = newId("key", now, random(10));
  const token = createToken(id.slice("key_".length), random(32));
  return { id, token, hash: hashSecret(parseToken(token)!.secret) };
}

async function list({ store }: ApiParts, call: Call): Promise<Reply> {
  const page = await store.keys.list(listQuery("keys", call));
  const items = page.data.map((item) => JSON.stringify(presentKey(item)));
  return pageReply(PATH, call.query, page, items);
}

async function revoke(parts: ApiParts, call: Call): Promise<Reply> {
  const { store, feed, config } = parts;
  const key = await found(parts, call);
  if (!(await store.keys.revoke(key.id, call.now))) throw notFound();
  feed.revoked(key.id);
  const mattered = key.tenant === EVERY_TENANT && key.scopes.includes("admin");
  if (!mattered || (await store.keys.hasAdmin(call.now))) return NO_CONTENT;
  return json(200, { id: key.id, note: lastAdminNote(config) });
}

/** Returns the key. An admin of one tenant sees only that tenant's keys. */
async function found({ store }: ApiParts, { principal, query, params: { id = "" } }: Call): Promise<ApiKey> {
  const tenant = tenantToRead(principal, namedTenant(query));
  const key = isId("key", id) ? await store.keys.get(id) : null;
  if (key === null || (tenant !== null && tenant !== key.tenant)) throw notFound();
  return key;
}

/** Warns that the last admin key is gone. The unix socket still works, because only file permissions guard it. */
function lastAdminNote({ server: { socket } }: Config): string {
  const access = socket === "" ? "set [server] socket and restart, because the socket" : `the unix socket ${socket}`;
  return `no admin key for every tenant is left; ${access} needs none: webhookd keys create --name admin --scope admin --tenant '*'`;
}
