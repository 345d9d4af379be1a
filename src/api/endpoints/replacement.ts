/** Making an endpoint be what a body says: replaced if it is there, made if its uid names none yet. */
import { DEFAULT_SETTINGS, type Endpoint, type EndpointSettings } from "../../domain/endpoints/endpoint.ts";
import { newId } from "../../domain/id.ts";
import { newSigningSecret } from "../../domain/endpoints/secret.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead, tenantToWrite } from "../pipeline/access.ts";
import { endpointId, uidOf } from "../pipeline/names.ts";
import { notFound, json, type Reply } from "../pipeline/reply.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { checked, validationFailed } from "../pipeline/body.ts";
import { etagOf, requireMatch, registered, requireForValues } from "./routes.ts";
import { uidSchema, presentEndpoint } from "./fields.ts";
import { replacementSchema, type Replacement, readReplacement, rulesFor } from "./requests.ts";
import { putEndpoint } from "./schemas.ts";

export function replacementRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "PUT",
      path: "/v1/webhooks/:id",
      access: "manage",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: replacementSchema(rulesFor(parts, "")) },
      audit: "endpoint.put",
      operation: putEndpoint,
      handle: (call) => put(parts, call),
    },
  ];
}

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
  const given = read(parts, call, owner);
  const settings = (_: EndpointSettings, endpoint: Endpoint) => settingsOf(call, given, endpoint, given.uid ?? null);
  const endpoint = await store.endpoints.update(tenant, id, settings, call.now);
  if (endpoint === null) throw notFound();
  return replaced(parts, endpoint);
}

async function replaceOrMake(parts: ApiParts, call: Call, name: string): Promise<Reply> {
  const { store, config, random } = parts;
  const { principal, query, now } = call;
  const tenant = tenantToWrite(principal, namedTenant(query));
  const given = read(parts, call, tenant);
  const { uid } = checked(uidSchema, { uid: name });
  if (given.uid !== undefined && given.uid !== uid) {
    const detail = "is not the one that the path names: leave it out";
    throw validationFailed([{ pointer: "/uid", code: "conflicting_fields", detail }]);
  }
  const signingSecret = newSigningSecret(random);
  const { endpoint, isNew } = await store.endpoints.put(
    { id: newId("ep", now, random(10)), tenant, uid, signingSecret },
    (before) => settingsOf(call, given, before, uid),
    config.endpoints.maxPerTenant,
    now,
  );
  call.isAbout(endpoint.id);
  return isNew ? registered(endpoint, signingSecret) : replaced(parts, endpoint);
}

function read(parts: ApiParts, { principal, body }: Call, tenant: string): Replacement {
  const given = readReplacement(body, rulesFor(parts, tenant));
  requireForValues(principal, given.headers);
  return given;
}

async function replaced({ deliveries }: ApiParts, endpoint: Endpoint): Promise<Reply> {
  await deliveries.refresh(endpoint.id);
  return json(200, presentEndpoint(endpoint), [etagOf(endpoint)]);
}

/** What the body leaves out has its default, but for `enabled`: a deploy must not undo what an operator disabled. */
function settingsOf(call: Call, given: Replacement, before: Endpoint | null, uid: string | null): EndpointSettings {
  requireMatch(call, before);
  return { ...given, uid, enabled: given.enabled ?? before?.enabled ?? DEFAULT_SETTINGS.enabled };
}
