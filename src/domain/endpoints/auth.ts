/**
 * The auth of an endpoint: credentials or a client certificate, if its receiver asks for more than a signature. The
 * store seals it. Callers see only what `shownAuth` leaves.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { FieldError } from "../errors.ts";
import { setsAuthorization } from "./authorization.ts";

export interface BasicAuth {
  readonly type: "basic";
  readonly username: string;
  readonly password: string;
}

export interface BearerAuth {
  readonly type: "bearer";
  readonly token: string;
}

/** A client shows its secret to the token server in the header of basic auth, or in the body (RFC 6749, 2.3.1). */
export const CLIENT_AUTHS = ["basic", "body"] as const;

/** Client credentials (RFC 6749, 4.4), for which a token server gives a bearer token. */
export interface OAuth2Auth {
  readonly type: "oauth2";
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | null;
  readonly audience: string | null;
  readonly clientAuth: (typeof CLIENT_AUTHS)[number];
}

/** A client certificate, perhaps with its chain, and its private key, as PEM. */
export interface MtlsAuth {
  readonly type: "mtls";
  readonly certificate: string;
  readonly key: string;
}

export type EndpointAuth = BasicAuth | BearerAuth | OAuth2Auth | MtlsAuth;

/** The facts of a certificate that may be shown. */
export interface CertificateFacts {
  readonly subject: string;
  /** Epoch milliseconds. */
  readonly notAfter: number;
  /** The SHA-256 of the certificate, in hexadecimal. */
  readonly fingerprint: string;
}

/** The part of an auth that is not secret. */
export type ShownAuth =
  | Omit<BasicAuth, "password">
  | Omit<BearerAuth, "token">
  | Omit<OAuth2Auth, "clientSecret">
  | (Pick<MtlsAuth, "type"> & CertificateFacts);

export function shownAuth(auth: EndpointAuth): ShownAuth {
  switch (auth.type) {
    case "basic":
      return { type: auth.type, username: auth.username };
    case "bearer":
      return { type: auth.type };
    case "oauth2": {
      const { clientSecret: _, ...shown } = auth;
      return shown;
    }
    case "mtls":
      return { type: auth.type, ...certificateFacts(auth.certificate) };
  }
}

/** Facts of the first certificate. Throws if there is none, or if its dates are none: OpenSSL does not look at them. */
export function certificateFacts(pem: string): CertificateFacts {
  const { subject, validTo, fingerprint256 } = new X509Certificate(pem);
  const notAfter = Date.parse(validTo);
  if (Number.isNaN(notAfter)) throw new RangeError("the certificate does not say when it expires");
  return {
    subject: (subject ?? "").replaceAll("\n", ", "),
    notAfter,
    fingerprint: fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}

/** Returns the instant at which the client certificate expires, or null if there is none. */
export function certificateUntil(auth: EndpointAuth | null): number | null {
  return auth?.type === "mtls" ? certificateFacts(auth.certificate).notAfter : null;
}

/** A client certificate is named this long before it expires. */
export const CERTIFICATE_WARNING_MS = 14 * 86_400_000;

/** An endpoint whose client certificate has expired, or soon does. */
export interface ExpiringCertificate {
  readonly endpoint: string;
  readonly tenant: string;
  readonly url: string;
  readonly notAfter: number;
}

/** The value of the `authorization` header, if it is the same for all attempts. */
export function fixedAuthorization(auth: EndpointAuth | null): string | null {
  switch (auth?.type) {
    case "basic":
      return basicAuthorization(auth.username, auth.password);
    case "bearer":
      return `Bearer ${auth.token}`;
    default:
      return null;
  }
}

/** RFC 7617, in UTF-8. */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, "utf8").toString("base64")}`;
}

/** The settings that an auth must agree with. */
export interface AuthSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: EndpointAuth | null;
  readonly ca: string | null;
}

/** True if what `authFaults` looks at is the same in both. */
export function isSameForAuth(one: AuthSettings, other: AuthSettings): boolean {
  const names = (settings: AuthSettings) => Object.keys(settings.headers).toSorted().join("\n");
  return (
    one.url === other.url && one.ca === other.ca && isSameAuth(one.auth, other.auth) && names(one) === names(other)
  );
}

export interface AuthPolicy {
  /** True if credentials may go over plain http. */
  readonly dev: boolean;
  /** True if the details may name the operator's settings. */
  readonly namesSettings: boolean;
}

/** Returns what is wrong with an auth and the own authorities, beside the other settings of the endpoint. */
export function authFaults({ url, headers, auth, ca }: AuthSettings, { dev, namesSettings }: AuthPolicy): FieldError[] {
  const faults: FieldError[] = [];
  const isPlain = (text: string) => URL.parse(text)?.protocol === "http:";
  const needsTls = auth?.type === "mtls" || ca !== null;
  if (isPlain(url) && (needsTls || (auth !== null && !dev))) {
    const pointer = auth === null ? "/ca" : "/auth";
    const detail = needsTls
      ? "is only used with TLS, and the URL of the endpoint begins with http://"
      : `would be sent in the clear, because the URL of the endpoint begins with http://${namesSettings ? "; only `serve --dev` allows that" : ""}`;
    faults.push({ pointer, code: "conflicting_fields", detail });
  }
  if (auth?.type === "oauth2" && isPlain(auth.tokenUrl) && !dev) {
    const setting = namesSettings ? "; only `serve --dev` allows http" : "";
    const detail = `must begin with https://, because the client secret is sent there${setting}`;
    faults.push({ pointer: "/auth/token_url", code: "url_scheme", detail });
  }
  const own = Object.keys(headers).find((name) => name.toLowerCase() === "authorization");
  if (own !== undefined && setsAuthorization(auth)) {
    const detail = `is also set by auth (${auth!.type}), and a request has only one; remove this header, or set auth to null`;
    faults.push({ pointer: `/headers/${own}`, code: "conflicting_fields", detail });
  }
  if (auth?.type === "mtls") faults.push(...identityFaults(auth));
  if (ca !== null) {
    const detail = authoritiesFault(ca);
    if (detail !== null) faults.push({ pointer: "/ca", code: "invalid_certificate", detail });
  }
  return faults;
}

/** Never repeats a part of the key. */
function identityFaults({ certificate, key }: MtlsAuth): FieldError[] {
  const leaf = read(() => new X509Certificate(certificate));
  if (leaf === null) return [fault("/auth/certificate", "is not a certificate in PEM")];
  if (read(() => certificateFacts(certificate)) === null)
    return [fault("/auth/certificate", "has a date of expiry that cannot be read")];
  const own = read(() => createPrivateKey({ key, format: "pem" }));
  if (own === null) return [fault("/auth/key", "is not a private key in PEM without a passphrase")];
  return leaf.checkPrivateKey(own)
    ? []
    : [fault("/auth/key", "is not the key of the first certificate in auth.certificate")];
}

function fault(pointer: string, detail: string): FieldError {
  return { pointer, code: "invalid_certificate", detail };
}

const PEM_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

function authoritiesFault(pem: string): string | null {
  // It is shown to all who may see the endpoint.
  if (PEM_KEY.test(pem)) return "contains a private key, which does not belong here; leave only the certificates";
  const all = pem.match(PEM_CERTIFICATE) ?? [];
  if (all.length === 0) return "has no certificate in PEM";
  const bad = all.findIndex((one) => read(() => new X509Certificate(one)) === null);
  return bad === -1 ? null : `cannot be read: certificate ${bad + 1} is damaged`;
}

function read<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}

/** Reads an auth as the store keeps it. Null if it is none. */
export function storedAuth(text: string): EndpointAuth | null {
  const found = read(() => JSON.parse(text) as EndpointAuth);
  const isWhole = found !== null && typeof found === "object" && isAuth(found);
  // The facts of the certificate are shown wherever the endpoint is.
  if (!isWhole || (found.type === "mtls" && read(() => certificateFacts(found.certificate)) === null)) return null;
  return found;
}

function isAuth(found: EndpointAuth): boolean {
  const areTexts = (...values: readonly unknown[]) => values.every((value) => typeof value === "string");
  switch (found.type) {
    case "basic":
      return areTexts(found.username, found.password);
    case "bearer":
      return areTexts(found.token);
    case "oauth2":
      return areTexts(found.tokenUrl, found.clientId, found.clientSecret) && CLIENT_AUTHS.includes(found.clientAuth);
    case "mtls":
      return areTexts(found.certificate, found.key);
    default:
      return false;
  }
}

export function isSameAuth(one: EndpointAuth | null, other: EndpointAuth | null): boolean {
  const entries = (auth: EndpointAuth | null) => Object.entries(auth ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries(one)) === JSON.stringify(entries(other));
}

/** The settings that decide over which connections an endpoint's requests go. */
export interface Route {
  readonly url: string;
  readonly auth: EndpointAuth | null;
  readonly ca: string | null;
}

/**
 * True if both use the same connections. A client certificate belongs to a connection, and a token is fetched for it;
 * the other kinds of auth are headers of a request.
 */
export function isSameRoute(one: Route, other: Route): boolean {
  const ofConnection = ({ auth }: Route) => (auth?.type === "mtls" || auth?.type === "oauth2" ? auth : null);
  return one.url === other.url && one.ca === other.ca && isSameAuth(ofConnection(one), ofConnection(other));
}
