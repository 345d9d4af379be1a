/** Routes that show an endpoint's signing secrets and rotate them without an outage: `docs/interface.md` §5. */
import * as v from "valibot";
import type { SigningSecrets as StoredSecrets } from "../../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import {
  GUESSABLE,
  isGuessable,
  isSigningSecret,
  newSigningSecret,
  SECRET_FORMS,
  shownOf,
} from "../../domain/endpoints/secret.ts";
import type { Rotation } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { endpointId } from "../pipeline/names.ts";
import { notFound, json, NO_CONTENT, type Reply } from "../pipeline/reply.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { described, Instant, titled } from "../pipeline/shapes.ts";
import { readJson } from "../pipeline/body.ts";

const PATH = "/v1/webhooks/:id";
const ROTATION = `${PATH}/rotate-secret`;
const DAY_SECONDS = 86_400;
const NOTHING = Buffer.from("{}");

export const Overlap = (description: string) =>
  v.optional(
    described(
      v.pipe(v.number(), v.integer("invalid_type: must be a whole number"), v.minValue(0), v.maxValue(7 * DAY_SECONDS)),
      description,
    ),
    DAY_SECONDS,
  );

/** A secret that receivers have already, from another sender. */
export const BroughtSecret = (description: string) =>
  described(
    v.pipe(
      v.string(),
      v.check(isSigningSecret, `invalid_secret: must be ${SECRET_FORMS}`),
      v.check((text) => !isSigningSecret(text) || !isGuessable(text), `invalid_secret: ${GUESSABLE}`),
    ),
    description,
  );

const RotateBody = v.strictObject({
  overlap_seconds: Overlap(
    "How long the current secret keeps signing, so that you can give receivers the next one. 0 switches at once.",
  ),
  secret: v.optional(BroughtSecret("A secret that you bring from another provider. By default, a new one is created.")),
});

export const SigningSecrets = titled(
  "SigningSecrets",
  v.object({
    signing_secret: described(
      v.string(),
      "Signs `X-Service-Signature` and, together with the next one, `webhook-signature`.",
    ),
    next_signing_secret: v.optional(
      described(v.string(), "Only during a rotation: already signs `webhook-signature`, and takes over afterwards."),
    ),
    switches_at: v.optional(described(Instant, "During a rotation: when the next secret takes over.")),
  }),
);

export const someSecrets = {
  signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
  next_signing_secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=",
  switches_at: "2026-11-21T09:55:00.000Z",
};

const params = { id: "ep" };

const { signing_secret, next_signing_secret } = someSecrets;

export const getSecret: Operation = {
  id: "getSecret",
  tag: "Endpoints",
  summary: "Get an endpoint's signing secrets",
  description: "During a rotation also the next one. Every call is recorded in the audit log.",
  params,
  replies: {
    200: {
      description: "The current secret, and the next one during a rotation.",
      schema: SigningSecrets,
      example: { signing_secret },
    },
  },
  problems: ["endpoint_damaged"],
};

export const rotateSecret: Operation = {
  id: "rotateSecret",
  tag: "Endpoints",
  summary: "Rotate the signing secret",
  description:
    "Receivers that verify `X-Service-Signature` must accept **a list of secrets**: add the next one from this " +
    "answer before `switches_at`, and remove the old one afterwards. Until then the current secret signs that " +
    "header, and both sign `webhook-signature`; then the next one takes over automatically. The call returns once every request is signed that way. A rotation with `overlap_seconds` 0 replaces a secret that cannot " +
    "be read (`damaged`).",
  params,
  example: { overlap_seconds: 86_400 },
  replies: { 200: { description: "Both secrets are in use.", schema: SigningSecrets, example: someSecrets } },
  problems: ["rotation_in_progress", "endpoint_damaged"],
};

export const completeRotation: Operation = {
  id: "completeRotation",
  tag: "Endpoints",
  summary: "Complete a rotation now",
  description:
    "Call this once all receivers have the next secret. The call returns once nothing is signed with the old one any more.",
  params,
  replies: {
    200: {
      description: "The next secret has taken over.",
      schema: SigningSecrets,
      example: { signing_secret: next_signing_secret },
    },
  },
  problems: ["not_rotating", "endpoint_damaged"],
};

export const abandonRotation: Operation = {
  id: "abandonRotation",
  tag: "Endpoints",
  summary: "Abandon the next secret",
  description:
    "From then on only the current secret signs. The call returns once nothing is signed with the next one any more.",
  params,
  replies: { 204: { description: "The next secret was discarded." } },
  problems: ["not_rotating", "endpoint_damaged"],
};

export function secretRoutes(parts: ApiParts): Route[] {
  const rules = { access: "secrets", reach: "endpoint", query: [TenantParameter] } as const;
  const body = { maxBytes: 64 * 1024, schema: RotateBody, optional: true };
  return [
    {
      ...rules,
      method: "GET",
      path: `${PATH}/secret`,
      audit: "secret.read",
      growth: "folds",
      operation: getSecret,
      handle: (call) => show(parts, call),
    },
    {
      ...rules,
      method: "POST",
      path: ROTATION,
      body,
      audit: "secret.rotate",
      growth: "folds",
      operation: rotateSecret,
      again: (call) => show(parts, call),
      handle: (call) => rotate(parts, call),
    },
    {
      ...rules,
      method: "POST",
      path: `${ROTATION}/complete`,
      audit: "secret.complete",
      growth: "folds",
      operation: completeRotation,
      again: (call) => show(parts, call),
      handle: (call) => complete(parts, call),
    },
    {
      ...rules,
      method: "DELETE",
      path: ROTATION,
      audit: "secret.abandon",
      growth: "folds",
      operation: abandonRotation,
      handle: (call) => abandon(parts, call),
    },
  ];
}

async function show(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const secrets = await store.secrets.get(...(await whose(parts, call)));
  if (secrets === null) throw notFound();
  if (secrets === "damaged") throw refusal("damaged");
  return json(200, presentSecrets(secrets));
}

async function rotate(parts: ApiParts, call: Call): Promise<Reply> {
  const { store, random } = parts;
  const { now } = call;
  const given = readJson(call.body.length === 0 ? NOTHING : call.body, RotateBody);
  const secret = given.secret ?? newSigningSecret(random);
  const next = { secret, switchesAt: now + given.overlap_seconds * 1000 };
  const [tenant, id] = await whose(parts, call);
  return json(200, presentSecrets(await changed(parts, id, store.secrets.rotate(tenant, id, next, now, onceOf(call)))));
}

async function complete(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const [tenant, id] = await whose(parts, call);
  return json(
    200,
    presentSecrets(await changed(parts, id, store.secrets.complete(tenant, id, call.now, onceOf(call)))),
  );
}

async function abandon(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const [tenant, id] = await whose(parts, call);
  await changed(parts, id, store.secrets.abandon(tenant, id));
  return NO_CONTENT;
}

async function whose({ store }: ApiParts, call: Call): Promise<[tenant: string | null, id: string]> {
  const { principal, query } = call;
  return [tenantToRead(principal, namedTenant(query)), await endpointId(store, call)];
}

/** Answers only once every sender signs with the secrets that the answer shows. */
async function changed({ deliveries }: ApiParts, endpoint: string, done: Promise<Rotation>): Promise<StoredSecrets> {
  const rotation = await done;
  if (rotation.result !== "done") throw refusal(rotation.result);
  await deliveries.refresh(endpoint);
  return rotation.secrets;
}

/**
 * The remembered text is empty: a repeat is answered from the row, because no secret is stored with the idempotency
 * key.
 */
function onceOf({ request }: Call): Once<Rotation> | undefined {
  return request && { ...request, answer: ({ result }) => (result === "done" ? result : null) };
}

/** Every secret in an answer passes through here. Receivers verify with what this shows. */
export function presentSecrets({ current, next }: StoredSecrets) {
  const signing_secret = shownOf(current);
  if (next === null) return { signing_secret };
  return { signing_secret, next_signing_secret: shownOf(next.secret), switches_at: formatInstant(next.switchesAt) };
}

function refusal(result: Exclude<Rotation["result"], "done">): WebhookdError {
  switch (result) {
    case "not_found":
      return notFound();
    case "rotation_in_progress":
      return new WebhookdError(
        "rotation_in_progress",
        "the next secret has not taken over yet; complete that rotation, or abandon it, before you begin another",
      );
    case "damaged":
      return new WebhookdError(
        "endpoint_damaged",
        "a signing secret of this endpoint cannot be read; give it a new one with overlap_seconds 0, or abandon the next one if the current one can be read",
      );
    case "not_rotating":
      return new WebhookdError(
        "not_rotating",
        "no rotation is in progress: its secret has already taken over, or it was abandoned; GET secret shows which secret signs",
      );
  }
}
