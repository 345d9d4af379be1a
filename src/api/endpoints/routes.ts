/** Routes that register, show, list, change, replace and delete endpoints. */
import { type Endpoint, type EndpointSettings, isDamaged } from "../../domain/endpoints/endpoint.ts";
import { newSigningSecret } from "../../domain/endpoints/secret.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { BRIEF, periodOf } from "../../domain/time/window.ts";
import { newId } from "../../domain/id.ts";
import type { ApiParts } from "../parts.ts";
import { allows, ANYONE, namedTenant, TenantParameter, tenantToRead, tenantToWrite } from "../pipeline/access.ts";
import { callerOf, listParameters, listQuery, pageReply } from "../pipeline/lists.ts";
import { endpointId, requireNames, uidOf } from "../pipeline/names.ts";
import { damagedEndpoint, type Header, json, NO_CONTENT, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Route } from "../pipeline/route.ts";
import { flagParameter, severalParameter } from "../pipeline/query.ts";
import { checked, validationFailed } from "../pipeline/body.ts";
import { requireForAuth } from "./auth.ts";
import { presentEndpoint, type RegistrationRules, uidSchema } from "./fields.ts";
import {
  changed,
  changeSchema,
  readChange,
  readRegistration,
  readReplacement,
  registrationSchema,
  type Replacement,
  replaced,
  replacementSchema,
  requireForMove,
  requireForSecret,
  requireSameUid,
  requireForValues,
  requireMatch,
  requireOffered,
  requireWhole,
  rulesFor,
} from "./requests.ts";
import {
  changeEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  presentHealth,
  presentRecent,
  putEndpoint,
  registerEndpoint,
} from "./schemas.ts";
import { presentSecrets } from "./secrets.ts";

const PATH = "/v1/webhooks";
const SMALL_BODY = { maxBytes: 64 * 1024 };
/** The answer to a dry run: the replacement could be made. */
const TRIED: Reply = { ...NO_CONTENT, isAudited: false };
const INCLUDED = ["health", "recent", "failing"] as const;
const DryRun = flagParameter(
  "dry_run",
  "Only check the request: the answer is 204 if it could be done, and nothing is stored.",
  false,
);
const Include = severalParameter(
  "include",
  INCLUDED,
  "Also return the `health` of each endpoint, its `recent` attempts by the hour, and how many are `failing`.",
);

export function endpointRoutes(parts: ApiParts): Route[] {
  const one = { path: `${PATH}/:id`, query: [TenantParameter], reach: "endpoint" } as const;
  return [
    registration(parts),
    {
      method: "GET",
      path: PATH,
      access: "read",
      reach: "own",
      query: [Include, ...listParameters("endpoints")],
      operation: listEndpoints,
      handle: (call) => list(parts, call),
    },
    { ...one, method: "GET", access: "read", operation: getEndpoint, handle: (call) => show(parts, call) },
    {
      ...one,
      method: "PATCH",
      access: "manage",
      body: {
        ...SMALL_BODY,
        schema: changeSchema(rulesFor(parts, "", ANYONE)),
        types: ["application/json", "application/merge-patch+json"],
      },
      audit: "endpoint.update",
      growth: "folds",
      operation: changeEndpoint,
      handle: (call) => change(parts, call),
    },
    {
      ...one,
      method: "DELETE",
      access: "manage",
      audit: "endpoint.delete",
      growth: { grows: 300, kept: "[retention] audit" },
      operation: deleteEndpoint,
      handle: (call) => remove(parts, call),
    },
    {
      ...one,
      query: [TenantParameter, DryRun],
      method: "PUT",
      access: "manage",
      body: { ...SMALL_BODY, schema: replacementSchema(rulesFor(parts, "", ANYONE)) },
      audit: "endpoint.put",
      growth: { grows: 800, kept: "[retention] statistics and audit, once it is deleted" },
      operation: putEndpoint,
      handle: (call) => put(parts, call),
    },
  ];
}

/** Registers an endpoint. A repeat of the request under its idempotency key is answered from the row. */
function registration(parts: ApiParts): Route {
  return {
    method: "POST",
    path: PATH,
    access: "manage",
    query: [TenantParameter],
    body: { ...SMALL_BODY, schema: registrationSchema(rulesFor(parts, "", ANYONE)) },
    audit: "endpoint.register",
    growth: { grows: 800, kept: "[retention] statistics and audit, once it is deleted" },
    operation: registerEndpoint,
    again: (call, remembered) => registeredBefore(parts, call, remembered),
    handle: (call) => register(parts, call),
  };
}

async function register(parts: ApiParts, { principal, query, body, now, request }: Call): Promise<Reply> {
  const { store, config } = parts;
  const tenant = tenantToWrite(principal, namedTenant(query));
  const { settings, secret } = readRegistration(body, rulesFor(parts, tenant, principal));
  requireForValues(principal, settings.headers);
  requireForAuth(principal, null, settings);
  requireForSecret(principal, secret);
  requireOffered(parts, settings.events, []);
  const own = idAndSecret(parts, now, secret);
  const endpoint = await store.endpoints.add(
    { ...settings, ...own, tenant },
    config.endpoints.maxPerTenant,
    now,
    request && { ...request, answer: ({ id }) => JSON.stringify([id, principal.keyId]) },
  );
  return registered(endpoint, own.signingSecret);
}

/** Makes the id of a new endpoint, and its signing secret unless the caller brings one. */
function idAndSecret({ random }: ApiParts, now: number, brought: string | undefined) {
  return { id: newId("ep", now, random(10)), signingSecret: brought ?? newSigningSecret(random) };
}

/**
 * Repeats the answer to a registration, rebuilt from the row because only the row holds the secret, sealed. Only the
 * key that was shown the secret before, or one that may read secrets, gets it.
 */
async function registeredBefore({ store }: ApiParts, { principal, query }: Call, remembered: string): Promise<Reply> {
  const [id, keyId] = JSON.parse(remembered) as [string, string | null];
  const endpoint = await store.endpoints.get(tenantToRead(principal, namedTenant(query)), id);
  const target = await store.endpoints.target(id);
  if (endpoint === null || target === null) throw new WebhookdError("gone", `${id} has been deleted since`);
  if (isDamaged(target)) throw damagedEndpoint(target.damaged);
  // The first answer showed version 1 of the secret to this key. Showing anything else needs the scope `secrets`.
  const shown = principal.keyId === keyId && target.secretVersion === 1;
  if (!shown && !allows(principal, "secrets")) {
    const detail = `${id} is registered, but its secret has since been rotated or shown to another key: see GET secret`;
    throw new WebhookdError("already_created", detail);
  }
  return registered(endpoint, target.signingSecret);
}

async function change(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const { principal, query, body, now } = call;
  const id = await endpointId(store, call);
  const tenant = tenantToRead(principal, namedTenant(query));
  const owner = tenant ?? (await store.endpoints.tenantOf(id));
  if (owner === null) throw notFound();
  const rules = rulesFor(parts, owner, principal);
  const patch = readChange(body, rules);
  requireForValues(principal, patch.headers ?? {});
  const settings = (before: EndpointSettings, endpoint: Endpoint) => {
    requireMatch(call, endpoint);
    requireWhole(patch, endpoint);
    const after = changed(before, patch, rules);
    requireForMove(principal, before, after);
    requireForAuth(principal, before, after);
    requireSameUid(principal, before, after.uid);
    requireOffered(parts, after.events, before.events);
    return after;
  };
  const endpoint = await store.endpoints.update(tenant, id, settings, now, patch.held);
  if (endpoint === null) throw notFound();
  const reply = await stored(parts, endpoint);
  if (patch.enabled === undefined) return reply;
  return { ...reply, audit: patch.enabled ? "endpoint.enable" : "endpoint.disable" };
}

/** Answers once the senders use the endpoint's new settings. */
async function stored({ deliveries }: ApiParts, endpoint: Endpoint): Promise<Reply> {
  await deliveries.refresh(endpoint.id);
  return json(200, presentEndpoint(endpoint), [etagOf(endpoint)]);
}

async function list(parts: ApiParts, call: Call): Promise<Reply> {
  const { principal, query } = call;
  const { store } = parts;
  const included = Include.read(query) ?? [];
  const asked = listQuery("endpoints", call);
  await requireNames(parts, asked.tenant, { type: asked.type });
  const page = await parts.store.endpoints.list({
    ...asked,
    url: normalUrl(asked.url),
    ids: principal.endpoints ?? undefined,
  });
  const more = await includedOf(parts, call, page.data, included);
  const items = page.data.map((item) => JSON.stringify({ ...presentEndpoint(item), ...more(item.id) }));
  if (!included.includes("failing")) return pageReply(PATH, query, page, items);
  const some = { tenant: asked.tenant, ids: principal.endpoints ?? undefined, limit: 1, order: "newest" } as const;
  const { total } = await store.endpoints.list({ ...some, standing: "failing", total: true });
  return pageReply(PATH, query, page, items, total === undefined ? {} : { failing: total.count });
}

/** Reads what a list includes of all its endpoints at once. */
async function includedOf(
  { store, deliveries }: ApiParts,
  call: Call,
  endpoints: readonly Endpoint[],
  included: readonly (typeof INCLUDED)[number][],
): Promise<(id: string) => object> {
  const ids = endpoints.map(({ id }) => id);
  const period = periodOf(BRIEF, call.now);
  const [health, stats] = await Promise.all([
    included.includes("health") ? store.endpoints.healthOf(ids) : undefined,
    included.includes("recent")
      ? store.statistics.ofEndpoints({ ...period, endpoints: ids }, callerOf(call))
      : undefined,
  ]);
  return (id) => {
    const [own, recent] = [health?.get(id), stats?.get(id)];
    return {
      ...(own && { health: presentHealth(own, deliveries.atOnce(id)) }),
      ...(recent && { recent: presentRecent(recent, period) }),
    };
  };
}

async function show({ store, deliveries }: ApiParts, call: Call): Promise<Reply> {
  const { principal, query } = call;
  const id = await endpointId(store, call);
  const tenant = tenantToRead(principal, namedTenant(query));
  const [endpoint, health] = await Promise.all([store.endpoints.get(tenant, id), store.endpoints.health(tenant, id)]);
  if (endpoint === null || health === null) throw notFound();
  return json(200, { ...presentEndpoint(endpoint), health: presentHealth(health, deliveries.atOnce(id)) }, [
    etagOf(endpoint),
  ]);
}

async function remove({ store, deliveries }: ApiParts, call: Call): Promise<Reply> {
  const { principal, query, now } = call;
  const id = await endpointId(store, call);
  if (!(await store.endpoints.delete(tenantToRead(principal, namedTenant(query)), id, now))) throw notFound();
  await deliveries.drop(id);
  return NO_CONTENT;
}

function registered(endpoint: Endpoint, secret: string): Reply {
  const answer = { ...presentEndpoint(endpoint), ...presentSecrets({ current: secret, next: null }) };
  return json(201, answer, [["location", `${PATH}/${endpoint.id}`], etagOf(endpoint)]);
}

/** Replaces the endpoint, or registers it if the path has a uid that does not exist yet. */
async function put(parts: ApiParts, call: Call): Promise<Reply> {
  const uid = uidOf(call);
  return uid === null ? replace(parts, call) : replaceOrMake(parts, call, uid);
}

async function replace(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const id = await endpointId(store, call);
  const tenant = tenantToRead(call.principal, namedTenant(call.query));
  const owner = tenant ?? (await store.endpoints.tenantOf(id));
  if (owner === null) throw notFound();
  const rules = rulesFor(parts, owner, call.principal);
  const given = givenOf(rules, call);
  const settings = (before: EndpointSettings, endpoint: Endpoint) => {
    requireSameUid(call.principal, before, given.uid ?? null);
    requireOffered(parts, given.events, before.events);
    return replaced(call, given, { settings: before, endpoint, owner }, given.uid ?? null, rules);
  };
  if (DryRun.read(call.query) === true) {
    if (!(await store.endpoints.judgeUpdate(tenant, id, settings))) throw notFound();
    return TRIED;
  }
  const endpoint = await store.endpoints.update(tenant, id, settings, call.now);
  if (endpoint === null) throw notFound();
  return stored(parts, endpoint);
}

async function replaceOrMake(parts: ApiParts, call: Call, name: string): Promise<Reply> {
  const { store, config } = parts;
  const { principal, query, now } = call;
  const tenant = tenantToWrite(principal, namedTenant(query));
  const rules = rulesFor(parts, tenant, principal);
  const given = givenOf(rules, call);
  const { uid } = checked(uidSchema, { uid: name });
  if (given.uid !== undefined && given.uid !== uid) {
    const detail = "differs from the one in the path; leave it out";
    throw validationFailed([{ pointer: "/uid", code: "conflicting_fields", detail }]);
  }
  const own = idAndSecret(parts, now, given.secret);
  const named = { ...own, tenant, uid };
  const settingsOf = (settings: EndpointSettings | null, endpoint: Endpoint | null) => {
    // The endpoint may have been deleted since the key was checked.
    if (principal.endpoints !== null && !principal.endpoints.includes(endpoint?.id ?? "")) throw notFound();
    requireOffered(parts, given.events, endpoint?.events ?? []);
    return replaced(call, given, { settings, endpoint, owner: tenant }, uid, rules);
  };
  const { maxPerTenant } = config.endpoints;
  if (DryRun.read(query) === true) {
    await store.endpoints.judgePut(named, settingsOf, maxPerTenant);
    return TRIED;
  }
  const { endpoint, isNew } = await store.endpoints.put(named, settingsOf, maxPerTenant, now);
  call.isAbout(endpoint.id);
  return isNew ? registered(endpoint, own.signingSecret) : stored(parts, endpoint);
}

function givenOf(rules: RegistrationRules, { principal, body }: Call): Replacement {
  const given = readReplacement(body, rules);
  requireForValues(principal, given.headers);
  requireForSecret(principal, given.secret);
  return given;
}

/** Normalises a URL as the store does, so that a caller may search for the URL that it registered. */
function normalUrl(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (URL.parse(text)?.href ?? text);
}

function etagOf({ revision }: Endpoint): Header {
  return ["etag", `"${revision}"`];
}
