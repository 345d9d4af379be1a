/** The auth of an endpoint, as callers set it and see it. */
import { createSecureContext } from "node:tls";
import * as v from "valibot";
import {
  authFaults,
  type AuthSettings,
  CLIENT_AUTHS,
  type EndpointAuth,
  isSameAuth,
  isSameForAuth,
  type ShownAuth,
} from "../../domain/endpoints/auth.ts";
import type { EndpointSettings } from "../../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { checkEndpointUrl, MAX_URL_BYTES, type UrlPolicy, wholeDetail } from "../../domain/network/url.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import { allows, type Principal } from "../pipeline/access.ts";
import { fieldError, Faults } from "../pipeline/body.ts";
import { anObject, described, Instant, line, titled } from "../pipeline/shapes.ts";

/** The rules that an auth must meet, of those for a registration. */
export interface AuthRules {
  readonly urlPolicy: UrlPolicy;
  readonly namesSettings: boolean;
}

/** Shown in place of a secret. In a request it stands for the value that is kept. */
export const MASKED = "***";

const MAX_SECRET = 4096;
const MAX_PEM = 16 * 1024;

const VISIBLE = v.pipe(
  v.string(),
  v.minLength(1, "too_few: must not be empty"),
  v.maxLength(MAX_SECRET, `too_long: must be at most ${MAX_SECRET} characters`),
  v.regex(/^[\x21-\x7e]*$/, "forbidden_char: must be visible ASCII characters"),
);
const OfBasic = v.pipe(
  v.string(),
  v.maxLength(MAX_SECRET, `too_long: must be at most ${MAX_SECRET} characters`),
  // RFC 7617 forbids control characters.
  v.check((text) => !/\p{Cc}/u.test(text), "forbidden_char: must not contain control characters"),
);
const Pem = v.pipe(
  v.string(),
  v.check((text) => text.length <= MAX_PEM, `too_long: must be at most ${MAX_PEM} characters`),
);

const Facts = {
  subject: described(v.string(), "Whom the certificate names."),
  not_after: described(Instant, "When it expires."),
  fingerprint: described(v.string(), "Its SHA-256."),
};

/** The descriptions of both fields, in requests and in answers. */
export const AUTH = "What the receiver asks for besides a signature, as `EndpointAuth`; `***` keeps a secret.";
export const CA = "PEM of the authorities of its certificate.";

export function authSchema(rules: AuthRules) {
  const text = (most: number) => v.pipe(line(most), v.minLength(1, "too_few: must not be empty"));
  const basic = v.strictObject({
    type: v.literal("basic"),
    username: v.pipe(
      OfBasic,
      v.check((name) => !name.includes(":"), "forbidden_char: must not contain a colon"),
    ),
    password: OfBasic,
  });
  const bearer = v.strictObject({ type: v.literal("bearer"), token: VISIBLE });
  const oauth2 = v.strictObject({
    type: v.literal("oauth2"),
    token_url: tokenUrl(rules),
    client_id: text(256),
    client_secret: VISIBLE,
    scope: v.optional(v.nullable(text(1024)), null),
    audience: v.optional(v.nullable(text(1024)), null),
    client_auth: described(
      v.optional(v.picklist(CLIENT_AUTHS), "basic"),
      "Where the token server gets the client's id and secret: in the header of `basic` auth, or in the `body`.",
    ),
  });
  const mtls = v.strictObject({
    type: v.literal("mtls"),
    certificate: described(Pem, "The client's certificate, perhaps with its chain."),
    key: described(Pem, "Without a passphrase."),
    // As they were read. They are ignored.
    subject: v.optional(v.unknown()),
    not_after: v.optional(v.unknown()),
    fingerprint: v.optional(v.unknown()),
  });
  const given: v.GenericSchema<unknown, GivenAuth> = v.variant("type", [basic, bearer, oauth2, mtls]);
  return v.pipe(
    v.nullable(anObject()),
    // The description would name each of these members twice if requests had a schema of their own there.
    v.rawTransform(({ dataset, addIssue, NEVER }): EndpointAuth | null => {
      if (dataset.value === null) return null;
      const result = v.safeParse(given, dataset.value);
      if (result.success) return domainAuth(result.output);
      for (const issue of result.issues) {
        const { code, detail } = fieldError(issue);
        addIssue({ message: `${code}: ${detail}`, ...(issue.path !== undefined && { path: issue.path }) });
      }
      return NEVER;
    }),
    v.description(AUTH),
  );
}

type GivenAuth =
  | Extract<EndpointAuth, { type: "basic" | "bearer" }>
  | {
      readonly type: "oauth2";
      readonly token_url: string;
      readonly client_id: string;
      readonly client_secret: string;
      readonly scope: string | null;
      readonly audience: string | null;
      readonly client_auth: (typeof CLIENT_AUTHS)[number];
    }
  | { readonly type: "mtls"; readonly certificate: string; readonly key: string };

function domainAuth(given: GivenAuth): EndpointAuth {
  switch (given.type) {
    case "oauth2": {
      const { type, scope, audience } = given;
      const client = { clientId: given.client_id, clientSecret: given.client_secret, clientAuth: given.client_auth };
      return { type, tokenUrl: given.token_url, ...client, scope, audience };
    }
    case "mtls":
      return { type: given.type, certificate: given.certificate, key: given.key };
    default:
      return given;
  }
}

/** A token server is called through the same guard as a receiver, so its URL follows the same rules. */
function tokenUrl({ urlPolicy, namesSettings }: AuthRules) {
  return v.pipe(
    described(v.string(), "Where tokens are fetched: a URL that follows the rules for the URL of an endpoint."),
    v.metadata({ format: "uri", maxLength: MAX_URL_BYTES }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const checked = checkEndpointUrl(dataset.value, urlPolicy);
      if ("url" in checked) return checked.url;
      addIssue({ message: `${checked.code}: ${namesSettings ? wholeDetail(checked) : checked.detail}` });
      return NEVER;
    }),
  );
}

export function caSchema() {
  return v.pipe(v.nullable(Pem), v.description(CA));
}

const Masked = v.literal(MASKED);

/** An auth as callers see it. */
export const Auth = titled(
  "EndpointAuth",
  v.variant("type", [
    v.object({ type: v.literal("basic"), username: v.string(), password: Masked }),
    v.object({ type: v.literal("bearer"), token: Masked }),
    v.object({
      type: v.literal("oauth2"),
      token_url: v.string(),
      client_id: v.string(),
      client_secret: Masked,
      scope: v.nullable(v.string()),
      audience: v.nullable(v.string()),
      client_auth: v.picklist(CLIENT_AUTHS),
    }),
    v.object({ type: v.literal("mtls"), certificate: Masked, key: Masked, ...Facts }),
  ]),
);

export function presentAuth(auth: ShownAuth | null): v.InferInput<typeof Auth> | null {
  switch (auth?.type) {
    case undefined:
      return null;
    case "basic":
      return { type: auth.type, username: auth.username, password: MASKED };
    case "bearer":
      return { type: auth.type, token: MASKED };
    case "oauth2": {
      const { type, tokenUrl: token_url, clientId: client_id, scope, audience, clientAuth: client_auth } = auth;
      return { type, token_url, client_id, client_secret: MASKED, scope, audience, client_auth };
    }
    case "mtls": {
      const { type, subject, notAfter, fingerprint } = auth;
      return { type, certificate: MASKED, key: MASKED, subject, not_after: formatInstant(notAfter), fingerprint };
    }
  }
}

/** The secret members of each type, by their names here and on the wire. */
const SECRETS: { readonly [Type in EndpointAuth["type"]]: readonly (readonly [member: string, wire: string])[] } = {
  basic: [["password", "password"]],
  bearer: [["token", "token"]],
  oauth2: [["clientSecret", "client_secret"]],
  mtls: [
    ["certificate", "certificate"],
    ["key", "key"],
  ],
};

/**
 * Puts the kept secrets in the place of masked ones, so that what was read can be sent back. Throws `validation_failed`
 * if there is none to keep.
 */
export function keptAuth(given: EndpointAuth | null, before: EndpointAuth | null): EndpointAuth | null {
  if (given === null) return null;
  const faults = new Faults();
  const values = given as unknown as Readonly<Record<string, unknown>>;
  const known = (given.type === before?.type ? before : {}) as Readonly<Record<string, unknown>>;
  const kept = SECRETS[given.type].flatMap(([member, wire]) => {
    if (values[member] !== MASKED) return [];
    if (known[member] === undefined) faults.add(`/auth/${wire}`, "invalid_secret", NOT_SHOWN);
    return [[member, known[member]]];
  });
  faults.throwAny();
  return { ...values, ...Object.fromEntries(kept) } as unknown as EndpointAuth;
}

const NOT_SHOWN = `${MASKED} stands for a value that is not shown, and there is none to keep; give the value itself`;

/**
 * Throws `validation_failed` if the auth and the own authorities cannot be used with the other settings. A change of
 * anything else is not judged: somebody must be able to disable an endpoint whose certificate is no longer taken.
 */
export function requireUsableAuth(
  settings: AuthSettings,
  { urlPolicy, namesSettings }: AuthRules,
  before: AuthSettings | null = null,
): void {
  if (settings.auth === null && settings.ca === null) return;
  if (before !== null && isSameForAuth(before, settings)) return;
  const faults = new Faults();
  const found = authFaults(settings, { dev: urlPolicy.dev, namesSettings });
  for (const { pointer, code, detail } of found) faults.add(pointer, code, detail);
  if (found.length === 0 && !isUsable(settings)) {
    const pointer = settings.auth?.type === "mtls" ? "/auth" : "/ca";
    faults.add(pointer, "invalid_certificate", "cannot be used for TLS: its key may be too short, or too old in kind");
  }
  faults.throwAny();
}

/** OpenSSL refuses weak keys and certificates, which can otherwise be read. */
function isUsable({ auth, ca }: AuthSettings): boolean {
  const identity = auth?.type === "mtls" ? { cert: auth.certificate, key: auth.key } : {};
  try {
    createSecureContext({ ...identity, ...(ca !== null && { ca }) });
    return true;
  } catch {
    return false;
  }
}

/** Credentials are secrets, so only a key with the scope `secrets` may set them. Anyone may remove them. */
export function requireForAuth(principal: Principal, before: EndpointSettings | null, after: EndpointSettings): void {
  if (after.auth === null || allows(principal, "secrets") || isSameAuth(before?.auth ?? null, after.auth)) return;
  throw new WebhookdError("forbidden", 'setting auth needs a key that also has the scope "secrets"');
}
