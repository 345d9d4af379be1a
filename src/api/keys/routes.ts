/** API keys. The token is in the answer to its creation and nowhere else. */
import type { Config } from "../../config.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import type { ApiKey } from "../../domain/keys/key.ts";
import { createToken, hashSecret, parseToken } from "../../domain/keys/token.ts";
import type { ApiParts } from "../parts.ts";
import {
  EVERY_TENANT,
  namedTenant,
  oneTenant,
  TenantParameter,
  tenantToRead,
  tenantToWrite,
} from "../pipeline/access.ts";
import { linkTo, PAGE_PARAMETERS, pageOf } from "../pipeline/lists.ts";
import { notFound } from "../pipeline/problem.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { json, NO_CONTENT, type Reply } from "../pipeline/reply.ts";
import { readJson, validationFailed } from "../pipeline/validation.ts";
import { createKey, getKey, listKeys, revokeKey, presentKey, KeyDraft } from "./schemas.ts";

const PATH = "/v1/keys";

/** The token was shown once, and is kept nowhere. */
function createdBefore(_call: Call, id: string): never {
  throw new WebhookdError("already_created", `this request made ${id} before; revoke it if its token was lost`);
}

export function keyRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: PATH,
      access: "admin",
      query: PAGE_PARAMETERS,
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
  const id = newId("key", now, random(10));
  const token = createToken(id.slice("key_".length), random(32));
  const key = {
    id,
    name: given.name,
    hash: hashSecret(parseToken(token)!.secret),
    scopes: given.scopes,
    tenant: tenantToWrite(principal, oneTenant(namedTenant(query), given.tenant, "/tenant")),
    expiresAt: given.expires_at,
  };
  await store.keys.add(key, now, request && { ...request, answer: () => id });
  const shown = presentKey({ ...key, createdAt: now, lastUsedAt: null, revokedAt: null });
  return json(201, { ...shown, key: token }, [["location", `${PATH}/${id}`]]);
}

async function list({ store }: ApiParts, { principal, query }: Call): Promise<Reply> {
  const page = await store.keys.list(pageOf(query, tenantToRead(principal, namedTenant(query))));
  const answer = { data: page.data.map(presentKey), next_cursor: page.nextCursor };
  return json(200, answer, linkTo(PATH, query, page.nextCursor));
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

/** An admin of one tenant sees that tenant's keys alone. */
async function found({ store }: ApiParts, { principal, query, params: { id = "" } }: Call): Promise<ApiKey> {
  const tenant = tenantToRead(principal, namedTenant(query));
  const key = isId("key", id) ? await store.keys.get(id) : null;
  if (key === null || (tenant !== null && tenant !== key.tenant)) throw notFound();
  return key;
}

/** Nobody is locked out: the file system says who may open the socket. */
function lastAdminNote({ server: { socket } }: Config): string {
  const way = socket === "" ? "set [server] socket and restart; that socket" : `the unix socket ${socket}`;
  return `no admin key for every tenant is left; ${way} needs none: webhookd keys create --name admin --scope admin --tenant '*'`;
}
