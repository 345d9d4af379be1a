/** Keeps the endpoint that gets the alerts in line with the configuration. It has a tenant of its own. */
import type { Config } from "../config.ts";
import { ConfigError, type Mistake } from "../config/mistake.ts";
import { ALERT_TENANT, ALERT_TYPES } from "../domain/alert.ts";
import { DEFAULT_SETTINGS } from "../domain/endpoints/endpoint.ts";
import { newId } from "../domain/id.ts";
import { GUESSABLE, isGuessable, isSigningSecret } from "../domain/endpoints/secret.ts";
import { checkEndpointUrl, wholeDetail, type UrlPolicy } from "../domain/network/url.ts";
import type { Mail } from "./people.ts";
import type { Store } from "../store/store.ts";

export type EndpointStore = Pick<Store, "endpoints" | "secrets">;

interface Parts {
  readonly store: EndpointStore;
  readonly config: Pick<Config, "alerts">;
  readonly urlPolicy: UrlPolicy;
  readonly now: number;
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * Creates, changes or removes the endpoint. Returns its id, or null if no alerts are wanted. Throws a ConfigError for a
 * setting that cannot be used.
 */
export async function keepAlertEndpoint(parts: Parts): Promise<string | null> {
  const { store, now, random } = parts;
  const { url, secret: given } = parts.config.alerts;
  const { data } = await store.endpoints.list({ tenant: ALERT_TENANT, limit: 1, order: "oldest" });
  const known = data[0];
  if (url === "") {
    if (known !== undefined) await store.endpoints.delete(ALERT_TENANT, known.id, now);
    return null;
  }
  const wanted = { url: usableUrl("url", url, parts.urlPolicy), events: [...ALERT_TYPES], enabled: true };
  const secret = usableSecret(given);
  if (known === undefined) {
    const id = newId("ep", now, random(10));
    const added = { ...DEFAULT_SETTINGS, ...wanted, id, tenant: ALERT_TENANT, signingSecret: secret };
    await store.endpoints.add(added, 1, now);
    return id;
  }
  if (
    !known.enabled ||
    known.damaged !== null ||
    known.url !== wanted.url ||
    known.events.join() !== wanted.events.join()
  ) {
    await store.endpoints.update(ALERT_TENANT, known.id, (before) => ({ ...before, ...wanted }), now);
  }
  const secrets = await store.secrets.get(ALERT_TENANT, known.id);
  const isInUse = secrets !== null && secrets !== "damaged" && secrets.current === secret;
  if (!isInUse) await store.secrets.rotate(ALERT_TENANT, known.id, { secret, switchesAt: now }, now);
  return known.id;
}

/** Returns the checks that do not need the store. Each throws a ConfigError for a setting that cannot be used. */
export function alertChecks(parts: Pick<Parts, "config" | "urlPolicy">): readonly (() => unknown)[] {
  const { url, secret: given } = parts.config.alerts;
  const own = [() => usableUrl("url", url, parts.urlPolicy), () => usableSecret(given)];
  return [() => chatUrl(parts), () => mailOf(parts.config), ...(url === "" ? [] : own)];
}

/**
 * Returns the URL of the chat that gets alerts as text, or null if there is none. Throws a ConfigError if it cannot be
 * used.
 */
export function chatUrl({ config, urlPolicy }: Pick<Parts, "config" | "urlPolicy">): URL | null {
  const { slackUrl } = config.alerts;
  return slackUrl === "" ? null : new URL(usableUrl("slack_url", slackUrl, urlPolicy));
}

const MAILBOX = /^[^\s@<>()[\]\\,;:"\x00-\x1f\x7f]{1,64}@[A-Za-z0-9.-]{1,255}$/;

/** Returns how alerts are mailed, or null if they are not. Throws a ConfigError that repeats no password. */
export function mailOf({ alerts: { smtpUrl, mailFrom, mailTo } }: Pick<Config, "alerts">): Mail | null {
  if (smtpUrl === "") return null;
  const mistakes: Mistake[] = [];
  const wrong = (key: string, what: string, todo: string) =>
    mistakes.push({ where: `[alerts] ${key}`, what, todo: `For example ${todo}.` });
  const server = URL.parse(smtpUrl);
  const login = server === null ? undefined : loginOf(server);
  const isWhole = server !== null && server.hostname !== "" && /^\/?$/.test(server.pathname) && !/[?#]/.test(smtpUrl);
  if (!isWhole || login === undefined || !/^smtps?:$/.test(server.protocol)) {
    const what = "must be an smtp:// or smtps:// URL, with nothing after the host and port.";
    wrong("smtp_url", what, '"smtps://user:password@mail.example.com"');
  }
  const to = mailTo.split(",").map((one) => one.trim());
  if (!MAILBOX.test(mailFrom)) wrong("mail_from", "must be a single email address.", '"webhookd@example.com"');
  if (!to.every((one) => MAILBOX.test(one))) {
    wrong("mail_to", "must be an email address, or several separated by commas.", '"ops@example.com"');
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return { server: server!, login: login!, from: mailFrom, to };
}

/** Returns undefined if the encoding is invalid. */
function loginOf({ username, password }: URL): Mail["login"] | undefined {
  try {
    return username === "" ? null : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}

/** Applies the same rules as to any endpoint. */
function usableUrl(key: "url" | "slack_url", url: string, urlPolicy: UrlPolicy): string {
  const checked = checkEndpointUrl(url, urlPolicy);
  if ("url" in checked) return checked.url;
  throw new ConfigError([{ where: `[alerts] ${key}`, what: `${wholeDetail(checked)}.` }]);
}

/** No message contains the secret. */
function usableSecret(secret: string): string {
  const where = "[alerts] secret";
  const todo = `Make one: (umask 077; printf 'whsec_%s' "$(openssl rand -base64 32)" > alerts.secret), and name the file as secret_file.`;
  const wrong = (what: string) => new ConfigError([{ where, what, todo }]);
  if (secret === "") throw wrong("is needed to sign the alerts sent to [alerts] url.");
  if (!isSigningSecret(secret)) throw wrong("is no signing secret.");
  if (isGuessable(secret)) throw wrong(`${GUESSABLE}.`);
  return secret;
}
