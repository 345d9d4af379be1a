/**
 * Reads registrations, replacements and changes of endpoints, checks that the caller may make them, and computes the
 * resulting settings.
 */
import { headerNames } from "../../domain/endpoints/further-signature.ts";
import type { EndpointAuth } from "../../domain/endpoints/auth.ts";
import * as v from "valibot";
import {
  DEFAULT_SETTINGS,
  type Endpoint,
  type EndpointPart,
  type EndpointSettings,
} from "../../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { archivedFault } from "../../domain/events/catalogue.ts";
import type { ApiParts } from "../parts.ts";
import { allows, type Principal } from "../pipeline/access.ts";
import type { Call } from "../pipeline/route.ts";
import { asRead, AnyObject, anObject, described, titled } from "../pipeline/shapes.ts";
import { checked, Faults, type JsonObject, memberPointer, readJson } from "../pipeline/body.ts";
import { keptAuth, MASKED, requireForAuth, requireUsableAuth } from "./auth.ts";
import { FIELDS, READ_ONLY, type RegistrationRules, SHOWN } from "./fields.ts";
import { BroughtSecret } from "./secrets.ts";

type Fields = Readonly<Record<string, unknown>>;

const DEFAULTS: Partial<EndpointSettings> = DEFAULT_SETTINGS;

/**
 * Returns the rules for an endpoint of `tenant`. Customers of a portal link never see the operator's settings, which
 * they cannot change.
 */
export function rulesFor(
  { catalogue, config, urlPolicy }: ApiParts,
  tenant: string,
  { isPortal }: Pick<Principal, "isPortal">,
): RegistrationRules {
  const { header, also } = config.signature;
  return {
    types: catalogue.types,
    signatureHeaders: [header, ...also.flatMap(headerNames)],
    urlPolicy: urlPolicy(tenant),
    seesTags: !isPortal,
    namesSettings: !isPortal,
  };
}

/** Only for an endpoint that is new. It is no setting, because only a rotation changes it afterwards. */
const SECRET = v.optional(
  BroughtSecret(
    "A secret that its receiver already verifies with, from another sender. By default, a new one is made.",
  ),
);

export function registrationSchema(rules: RegistrationRules) {
  return titled("Registration", v.strictObject({ ...registered(rules), secret: SECRET }));
}

/** The settings of an endpoint to be made, and the signing secret that the caller brings. */
export interface Registration {
  readonly settings: EndpointSettings;
  readonly secret: string | undefined;
}

export function readRegistration(body: Uint8Array, rules: RegistrationRules): Registration {
  const given: Fields = readJson(body, registrationSchema(rules));
  const settings = settingsOf(given);
  keptHeaders(settings.headers, {});
  keptAuth(settings.auth, null);
  requireUsableAuth(settings, rules);
  return { settings, secret: given["secret"] as string | undefined };
}

function registered(rules: RegistrationRules): Record<string, v.GenericSchema> {
  const entries = FIELDS.map(([setting, { wire, reads }]): [string, v.GenericSchema] => {
    const schema = reads(rules);
    return [wire, setting in DEFAULTS ? v.optional(schema, DEFAULTS[setting]) : schema];
  });
  return Object.fromEntries(entries);
}

/** Like a registration, but `enabled` may be left unchanged, and the path may contain the `uid`. */
export type Replacement = Omit<EndpointSettings, "enabled" | "uid"> &
  Partial<Pick<EndpointSettings, "enabled" | "uid">> & {
    readonly id?: string;
    readonly tenant?: string;
    readonly secret?: string;
  };

/** Ignored in a replacement, so that a caller can send back what it read, with its own changes. */
const IGNORED = READ_ONLY.filter(([wire]) => wire !== "id" && wire !== "tenant");
const SAME = "If you send back what you read: it must be that of the endpoint in the path.";

export function replacementSchema(rules: RegistrationRules) {
  const { enabled: _, uid: __, ...entries } = registered(rules);
  const bare = Object.fromEntries(FIELDS.map(([setting, { reads }]) => [setting, reads(rules)]));
  return titled(
    "EndpointReplacement",
    v.strictObject({
      ...entries,
      enabled: v.optional(described(bare.enabled!, "By default it stays as it is; a new endpoint is enabled.")),
      uid: v.optional(
        described(
          bare.uid!,
          "Needed only if the path contains an id. If you leave it out in that case, the endpoint loses its `uid`.",
        ),
      ),
      secret: v.optional(
        BroughtSecret(
          "If this registers the endpoint: a secret that its receiver already verifies with; needs the scope `secrets`. An endpoint that exists keeps its own; a rotation replaces it.",
        ),
      ),
      id: asRead(SHOWN.id, SAME),
      tenant: asRead(SHOWN.tenant, SAME),
      ...Object.fromEntries([...IGNORED, ["health", AnyObject] as const].map(([wire, shape]) => [wire, asRead(shape)])),
    }),
  );
}

export function readReplacement(body: Uint8Array, rules: RegistrationRules): Replacement {
  const given = readJson(body, replacementSchema(rules)) as Fields & {
    readonly id?: string;
    readonly tenant?: string;
    readonly secret?: string;
  };
  return {
    ...settingsOf(given),
    ...(given.id && { id: given.id }),
    ...(given.tenant && { tenant: given.tenant }),
    ...(given.secret && { secret: given.secret }),
  };
}

/**
 * Fields that the body leaves out get their default, except `enabled`: deploying must not enable what an operator
 * disabled.
 */
export function replaced(
  call: Call,
  replacement: Replacement,
  { settings, endpoint, owner }: Replaced,
  uid: string | null,
  rules: RegistrationRules,
): EndpointSettings {
  requireMatch(call, endpoint);
  const { id, tenant, secret: _, ...given } = replacement;
  const faults = new Faults();
  if (id !== undefined && id !== endpoint?.id) {
    const other = endpoint === null ? "there is no such endpoint any more" : "is another endpoint than in the path";
    faults.add("/id", "conflicting_fields", `${other}; leave it out`);
  }
  if (tenant !== undefined && tenant !== owner)
    faults.add("/tenant", "conflicting_fields", "is another tenant than that of the endpoint; leave it out");
  faults.throwAny();
  const headers = keptHeaders(given.headers, settings?.headers ?? {}) as Record<string, string>;
  const auth = keptAuth(given.auth, settings?.auth ?? null);
  const enabled = given.enabled ?? endpoint?.enabled ?? DEFAULT_SETTINGS.enabled;
  const after = { ...given, headers, auth, uid, enabled };
  requireUsableAuth(after, rules, settings);
  requireForAuth(call.principal, settings, after);
  if (settings !== null) requireForMove(call.principal, settings, after);
  return after;
}

/** The endpoint that a replacement is for, before it. Null if there is none yet. */
interface Replaced {
  readonly settings: EndpointSettings | null;
  readonly endpoint: Endpoint | null;
  readonly owner: string;
}

/**
 * Puts the real values in the place of masked ones, so that what was read can be sent back. Throws `validation_failed`
 * for a header that the endpoint does not have, because a receiver would refuse every event with a masked value.
 */
function keptHeaders(given: JsonObject, before: Readonly<Record<string, string>>): JsonObject {
  const faults = new Faults();
  const values = new Map(Object.entries(before).map(([name, value]) => [name.toLowerCase(), value]));
  const kept = Object.entries(given).map(([name, value]) => {
    if (value !== MASKED) return [name, value] as const;
    const known = values.get(name.toLowerCase());
    if (known === undefined) faults.add(memberPointer("/headers", name), "invalid_header", NOT_SHOWN);
    return [name, known] as const;
  });
  faults.throwAny();
  return Object.fromEntries(kept);
}

const NOT_SHOWN = `${MASKED} stands for a value that is not shown, and there is none to keep; give the value itself`;

/** The fields as they are on the wire. A field that was left out is absent. */
export type EndpointPatch = Fields & {
  readonly headers?: JsonObject | null;
  readonly auth?: EndpointAuth | null;
  readonly held?: "release" | "cancel";
};

/** The schema of a merge-patch (RFC 7396). Fields that are merged are checked after the merge. */
export function changeSchema(rules: RegistrationRules) {
  const entries = FIELDS.map(([setting, { wire, reads, merges, resets }]): [string, v.GenericSchema] => {
    const schema = merges === undefined ? reads(rules) : anObject();
    const isNullable = resets !== false && (DEFAULTS[setting] ?? null) !== null;
    return [wire, v.optional(isNullable ? v.nullable(schema) : schema)];
  });
  const Change = titled(
    "EndpointChange",
    v.strictObject({
      ...(Object.fromEntries(entries) as { enabled: v.OptionalSchema<v.GenericSchema<boolean>, undefined> }),
      held: v.optional(
        described(
          v.picklist(["release", "cancel"]),
          "With `enabled: true`: held deliveries are sent (`release`, the default) or cancelled (`cancel`).",
        ),
      ),
    }),
  );
  return v.pipe(
    Change,
    v.forward(
      v.partialCheck(
        [["enabled"], ["held"]],
        ({ enabled, held }) => held === undefined || enabled === true,
        "conflicting_fields: is allowed only with enabled: true",
      ),
      ["held"],
    ),
  );
}

export function readChange(body: Uint8Array, rules: RegistrationRules): EndpointPatch {
  return readJson(body, changeSchema(rules)) as EndpointPatch;
}

/**
 * Applies a change. Null restores a field's default. Throws `validation_failed` if the result of a merge is refused.
 */
export function changed(before: EndpointSettings, patch: EndpointPatch, rules: RegistrationRules): EndpointSettings {
  const headers = patch.headers && keptHeaders(patch.headers, before.headers);
  const auth = patch.auth && keptAuth(patch.auth, before.auth);
  const asked: Fields = { ...patch, ...(headers && { headers }), ...(auth && { auth }) };
  const values = FIELDS.map(([setting, field]) => {
    const given = asked[field.wire];
    if (given === undefined) return [setting, before[setting]];
    if (given === null) return [setting, DEFAULTS[setting]];
    return [setting, field.merges?.(before[setting], given as JsonObject) ?? given];
  });
  const settings = Object.fromEntries(values) as unknown as EndpointSettings;
  const merged = FIELDS.filter(([, { merges }]) => merges !== undefined);
  const schema = v.object(Object.fromEntries(merged.map(([, { wire, reads }]) => [wire, reads(rules)])));
  const judged = checked(schema, Object.fromEntries(merged.map(([setting, { wire }]) => [wire, settings[setting]])));
  const after = { ...settings, ...Object.fromEntries(merged.map(([setting, { wire }]) => [setting, judged[wire]])) };
  requireUsableAuth(after, rules, before);
  return after;
}

/**
 * Refuses a change that does not set every damaged part anew, because nobody knows the value of a part that cannot be
 * read.
 */
export function requireWhole(patch: EndpointPatch, { damaged, headerNames }: Endpoint): void {
  const missing = (damaged?.parts ?? []).filter((part) => !isMended(part, patch, headerNames));
  if (missing.length === 0) return;
  const detail = missing.includes("headers")
    ? `headers cannot be read; set each of these again, or set headers to null: ${headerNames.join(", ")}`
    : `${missing.join(", ")} cannot be read; set ${missing.length === 1 ? "it" : "them"} again in the same change`;
  throw new WebhookdError("endpoint_damaged", detail);
}

function isMended(part: EndpointPart, patch: EndpointPatch, headerNames: readonly string[]): boolean {
  switch (part) {
    case "signing_secret":
    case "next_signing_secret":
    case "signing_key":
      // A change does not touch secrets and keys, so it cannot make them worse.
      return true;
    case "headers": {
      if (patch.headers === null) return true;
      const named = Object.keys(patch.headers ?? {}).map((name) => name.toLowerCase());
      return patch.headers !== undefined && headerNames.every((name) => named.includes(name.toLowerCase()));
    }
    case "tenant":
      return false;
    default:
      return patch[part] !== undefined;
  }
}

function settingsOf(given: Fields): EndpointSettings {
  return Object.fromEntries(FIELDS.map(([setting, { wire }]) => [setting, given[wire]])) as unknown as EndpointSettings;
}

/**
 * Header values are often credentials, so only a key with the scope `secrets` may set one. Null removes a header, and a
 * masked value stays as it is.
 */
export function requireForValues(principal: Principal, headers: Readonly<Record<string, unknown>>): void {
  const isSet = (value: unknown) => value !== null && value !== MASKED;
  if (allows(principal, "secrets") || !Object.values(headers).some(isSet)) return;
  throw new WebhookdError("forbidden", 'setting header values needs a key that also has the scope "secrets"');
}

/** Without the scope `secrets` nobody chooses what signs, neither here nor in a rotation. */
export function requireForSecret(principal: Principal, secret: string | undefined): void {
  if (secret === undefined || allows(principal, "secrets")) return;
  throw new WebhookdError("forbidden", 'choosing the signing secret needs a key that also has the scope "secrets"');
}

/** Only an endpoint that already chose an archived type may keep it. Throws `validation_failed`. */
export function requireOffered({ catalogue }: ApiParts, events: readonly string[], before: readonly string[]): void {
  const fault = archivedFault(catalogue.types, events, before);
  if (fault !== null) throw fault;
}

/**
 * Another host, or one that other authorities vouch for, would get the endpoint's header values and auth. So moving it
 * there needs the scope to set them.
 */
export function requireForMove(principal: Principal, before: EndpointSettings, after: EndpointSettings): void {
  const sendsSecrets = Object.keys(after.headers).length > 0 || after.auth !== null;
  if (allows(principal, "secrets") || !sendsSecrets) return;
  if (new URL(after.url).origin === URL.parse(before.url)?.origin && after.ca === before.ca) return;
  const detail =
    "its header values and auth would go to another host, or to one that other authorities vouch for: remove them, or " +
    'use a key that also has the scope "secrets"';
  throw new WebhookdError("forbidden", detail);
}

/**
 * All of a tenant's endpoints share one set of uids, so a key for some endpoints could try names to find out which ones
 * the others use.
 */
export function requireSameUid(principal: Principal, before: EndpointSettings, uid: string | null): void {
  if (principal.endpoints === null || before.uid === uid) return;
  throw new WebhookdError("forbidden", "this key is limited to some endpoints, and cannot change their uid");
}

const CHANGED =
  "the endpoint has changed since you read it, or was deleted: GET it again, and send its ETag in If-Match";
const THERE = "the endpoint already exists: leave out If-None-Match to replace it";

/**
 * Throws `precondition_failed`. `endpoint` is null if there is none. Call this where nothing can change the endpoint in
 * between.
 */
export function requireMatch({ headers }: Call, endpoint: Endpoint | null): void {
  const isNamed = (list: string) => endpoint !== null && names(list, endpoint.revision);
  const match = headers["if-match"];
  if (match !== undefined && !isNamed(match)) throw new WebhookdError("precondition_failed", CHANGED);
  const none = headers["if-none-match"];
  if (none !== undefined && isNamed(none)) throw new WebhookdError("precondition_failed", THERE);
}

/** Compares strongly, so a weak tag matches nothing. */
function names(list: string, revision: string): boolean {
  return list.trim() === "*" || list.split(",").some((tag) => tag.trim() === `"${revision}"`);
}
