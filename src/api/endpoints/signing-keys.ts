/**
 * Routes that show the public keys of a tenant, publish them as a JSON Web Key Set, and rotate the private keys:
 * `docs/interface.md` §5. No answer contains a private key.
 */
import * as v from "valibot";
import { jwkOf, newPrivateKey, publicKeyOf } from "../../domain/endpoints/asymmetric.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { TENANT, DEFAULT_TENANT } from "../../domain/id.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import type { KeyRotation, SigningKeys as StoredKeys } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, oneTenantOf, TenantParameter, tenantToWrite } from "../pipeline/access.ts";
import { readJson } from "../pipeline/body.ts";
import { textParameter } from "../pipeline/query.ts";
import { json, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { described, Instant, titled } from "../pipeline/shapes.ts";
import { Overlap } from "./secrets.ts";

const PATH = "/v1/webhooks/keys";
const ROTATION = `${PATH}/rotate`;
const SET = `${PATH}/jwks.json`;
/** Receivers may keep the set for this long, which is short compared with an overlap. */
const SET_SECONDS = 300;
const NOTHING = Buffer.from("{}");

const RotateBody = v.strictObject({
  overlap_seconds: Overlap(
    "How long both keys sign, so that receivers can learn the next public key. 0 switches at once.",
  ),
});

const ChangeBody = v.strictObject({
  published: described(v.boolean(), "Whether anyone may read the public keys at `jwks.json`, without an API key."),
});

export const SigningKeys = titled(
  "SigningKeys",
  v.object({
    public_key: described(
      v.nullable(v.string()),
      "Verifies `v1a` in `webhook-signature`: `whpk_` and base64, as in Standard Webhooks. Null until the tenant has a key: the first endpoint that chooses `ed25519` makes it, or a rotation.",
    ),
    next_public_key: v.optional(
      described(v.string(), "Only during a rotation: its private key already signs too, and takes over afterwards."),
    ),
    switches_at: v.optional(described(Instant, "During a rotation: when the next key takes over.")),
    published: described(v.boolean(), "Whether anyone may read the public keys at `jwks.json`, without an API key."),
  }),
);

const Jwk = v.object({
  kty: v.literal("OKP"),
  crv: v.literal("Ed25519"),
  x: v.string(),
  use: v.literal("sig"),
  kid: described(v.string(), "The thumbprint of RFC 7638."),
});

export const SigningKeySet = titled("SigningKeySet", v.object({ keys: v.array(Jwk) }));

const CURRENT = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const NEXT = "whpk_PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
export const someKeys = {
  public_key: CURRENT,
  next_public_key: NEXT,
  switches_at: "2026-11-21T09:55:00.000Z",
  published: false,
};

export const getSigningKeys: Operation = {
  id: "getSigningKeys",
  tag: "Endpoints",
  summary: "Get a tenant's public keys",
  description: "The keys that verify `v1a` in `webhook-signature`, for endpoints whose `signatures` include `ed25519`.",
  replies: {
    200: {
      description: "The current public key, and the next one during a rotation.",
      schema: SigningKeys,
      example: { public_key: CURRENT, published: false },
    },
  },
  problems: ["endpoint_damaged"],
};

export const changeSigningKeys: Operation = {
  id: "changeSigningKeys",
  tag: "Endpoints",
  summary: "Publish a tenant's public keys, or stop",
  description: "404 while the tenant has no key.",
  example: { published: true },
  replies: {
    200: { description: "The keys.", schema: SigningKeys, example: { public_key: CURRENT, published: true } },
  },
  problems: ["not_found", "endpoint_damaged"],
};

export const rotateSigningKey: Operation = {
  id: "rotateSigningKey",
  tag: "Endpoints",
  summary: "Rotate a tenant's private key",
  description:
    "From then on both keys sign `webhook-signature`, until the next one takes over at `switches_at`. Give receivers " +
    "the next public key before. If the tenant has no key yet, its first one is made. The call returns once every " +
    "request is signed that way. A rotation with `overlap_seconds` 0 replaces a key that cannot be read.",
  example: { overlap_seconds: 86_400 },
  replies: { 200: { description: "Both keys are in use.", schema: SigningKeys, example: someKeys } },
  problems: ["rotation_in_progress", "endpoint_damaged"],
};

export const completeKeyRotation: Operation = {
  id: "completeKeyRotation",
  tag: "Endpoints",
  summary: "Complete a rotation of the private key now",
  description: "The call returns once nothing is signed with the old key any more.",
  replies: {
    200: {
      description: "The next key has taken over.",
      schema: SigningKeys,
      example: { public_key: NEXT, published: false },
    },
  },
  problems: ["not_found", "not_rotating", "endpoint_damaged"],
};

export const abandonKeyRotation: Operation = {
  id: "abandonKeyRotation",
  tag: "Endpoints",
  summary: "Abandon the next private key",
  description: "The call returns once nothing is signed with the next key any more.",
  replies: {
    200: {
      description: "Only the current key signs.",
      schema: SigningKeys,
      example: { public_key: CURRENT, published: false },
    },
  },
  problems: ["not_found", "not_rotating", "endpoint_damaged"],
};

export const getSigningKeySet: Operation = {
  id: "getSigningKeySet",
  tag: "Endpoints",
  summary: "Get the public keys that a tenant published, as a JSON Web Key Set",
  description:
    "Needs no key. 404 unless the tenant has published its keys. Receivers may keep the answer for five minutes.",
  replies: {
    200: {
      description: "The public keys that verify `v1a` now (RFC 7517, RFC 8037).",
      schema: SigningKeySet,
      example: { keys: [jwkOf(CURRENT)] },
    },
  },
  problems: ["not_found", "endpoint_damaged"],
};

const OpenTenant = textParameter(
  "tenant",
  "The tenant whose keys are meant, by default `default`.",
  TENANT,
  "is not a tenant name",
);

export function signingKeyRoutes(parts: ApiParts): Route[] {
  const query = [TenantParameter];
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      reach: "all",
      query,
      operation: getSigningKeys,
      handle: (call) => show(parts, call),
    },
    {
      method: "PATCH",
      path: PATH,
      access: "manage",
      query,
      body: { maxBytes: 64 * 1024, schema: ChangeBody },
      audit: "signing_key.publish",
      growth: "folds",
      operation: changeSigningKeys,
      handle: (call) => publish(parts, call),
    },
    ...rotationRoutes(parts),
    {
      method: "GET",
      path: SET,
      access: "open",
      query: [OpenTenant],
      operation: getSigningKeySet,
      handle: (call) => showSet(parts, OpenTenant.read(call.query) ?? DEFAULT_TENANT),
    },
  ];
}

function rotationRoutes(parts: ApiParts): Route[] {
  const { signingKeys: keys } = parts.store;
  const rules = { access: "secrets", query: [TenantParameter], growth: "folds" } as const;
  return [
    {
      ...rules,
      method: "POST",
      path: ROTATION,
      body: { maxBytes: 64 * 1024, schema: RotateBody, optional: true },
      audit: "signing_key.rotate",
      growth: { grows: 700, kept: "for good, once for each tenant; [retention] audit" },
      operation: rotateSigningKey,
      again: (call) => show(parts, call),
      handle: (call) => rotate(parts, call),
    },
    {
      ...rules,
      method: "POST",
      path: `${ROTATION}/complete`,
      audit: "signing_key.complete",
      operation: completeKeyRotation,
      again: (call) => show(parts, call),
      handle: (call) => answered(parts, call, (tenant) => keys.complete(tenant, call.now, onceOf(call))),
    },
    {
      ...rules,
      method: "DELETE",
      path: ROTATION,
      audit: "signing_key.abandon",
      operation: abandonKeyRotation,
      handle: (call) => answered(parts, call, (tenant) => keys.abandon(tenant)),
    },
  ];
}

async function show(parts: ApiParts, call: Call): Promise<Reply> {
  const tenant = oneTenantOf(call.principal, namedTenant(call.query));
  const keys = await keysOf(parts, tenant);
  return { ...json(200, keys === null ? { public_key: null, published: false } : presentKeys(keys)), tenant };
}

/** Anyone may ask, so a tenant that has published nothing must look like one that does not exist. */
async function showSet(parts: ApiParts, tenant: string): Promise<Reply> {
  const keys = await keysOf(parts, tenant);
  if (keys === null || !keys.published) throw notFound();
  const all = [keys.current, ...(keys.next === null ? [] : [keys.next.secret])];
  const reply = json(200, { keys: all.map((key) => jwkOf(publicKeyOf(key))) });
  return { ...reply, cache: `public, max-age=${SET_SECONDS}` };
}

async function publish(parts: ApiParts, call: Call): Promise<Reply> {
  const { published } = readJson(call.body, ChangeBody);
  const tenant = tenantOf(call);
  if (!(await parts.store.signingKeys.publish(tenant, published))) throw withoutKey();
  const keys = await keysOf(parts, tenant);
  return { ...json(200, presentKeys(keys!)), tenant };
}

async function rotate(parts: ApiParts, call: Call): Promise<Reply> {
  const { overlap_seconds } = readJson(call.body.length === 0 ? NOTHING : call.body, RotateBody);
  const next = { secret: newPrivateKey(parts.random), switchesAt: call.now + overlap_seconds * 1000 };
  return answered(parts, call, (tenant) => parts.store.signingKeys.rotate(tenant, next, call.now, onceOf(call)));
}

function tenantOf({ principal, query }: Call): string {
  return tenantToWrite(principal, namedTenant(query));
}

async function keysOf({ store }: ApiParts, tenant: string): Promise<StoredKeys | null> {
  const keys = await store.signingKeys.get(tenant);
  if (keys === "damaged") throw refusal("damaged");
  return keys;
}

/** Answers only once every sender signs with the keys that the answer shows. */
async function answered(
  { deliveries }: ApiParts,
  call: Call,
  rotates: (tenant: string) => Promise<KeyRotation>,
): Promise<Reply> {
  const tenant = tenantOf(call);
  const rotation = await rotates(tenant);
  if (rotation.result !== "done") throw refusal(rotation.result);
  await deliveries.refreshAll(rotation.endpoints);
  return { ...json(200, presentKeys(rotation.keys)), tenant };
}

/**
 * The remembered text is empty: a repeat is answered from the row, because no key is stored with the idempotency key.
 */
function onceOf({ request }: Call): Once<KeyRotation> | undefined {
  return request && { ...request, answer: ({ result }) => (result === "done" ? result : null) };
}

function presentKeys({ current, next, published }: StoredKeys) {
  const public_key = publicKeyOf(current);
  if (next === null) return { public_key, published };
  const switches_at = formatInstant(next.switchesAt);
  return { public_key, next_public_key: publicKeyOf(next.secret), switches_at, published };
}

function withoutKey(): WebhookdError {
  return new WebhookdError(
    "not_found",
    "the tenant has no signing key yet: it is created by a rotation, or by the first endpoint whose signatures include ed25519",
  );
}

function refusal(result: Exclude<KeyRotation["result"], "done">): WebhookdError {
  switch (result) {
    case "not_found":
      return withoutKey();
    case "rotation_in_progress":
      return new WebhookdError(
        "rotation_in_progress",
        "the next key has not taken over yet; complete that rotation, or abandon it, before you begin another",
      );
    case "damaged":
      return new WebhookdError(
        "endpoint_damaged",
        "a private key of this tenant cannot be read, so nothing is sent to the endpoints that it signs for; rotate it with overlap_seconds 0, and give receivers the new public key",
      );
    case "not_rotating":
      return new WebhookdError(
        "not_rotating",
        "no rotation is in progress: the next key has already taken over, or it was abandoned",
      );
  }
}
