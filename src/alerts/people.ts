/** Sends alerts to people: a few lines of text, posted to a chat or mailed. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock } from "../clock.ts";
import type { Advice } from "../domain/advice/advice.ts";
import { heldKeyCommands } from "../domain/advice/held-key.ts";
import type { AlertType } from "../domain/alert.ts";
import { causeText } from "../domain/deliveries/attempt.ts";
import { isLoopback } from "../domain/network/url.ts";
import { printable } from "../domain/printable.ts";
import { counted, sizeText } from "../domain/wording.ts";
import type { Log } from "../log.ts";

/** The fields of an alert's data that the text uses. */
export interface AlertData {
  readonly total?: number;
  readonly endpoints?: readonly Concerned[];
  readonly groups?: readonly Concerned[];
  readonly detail?: string;
  readonly free_bytes?: number;
  readonly floor_bytes?: number;
}
interface HeldKeys {
  readonly count: number;
  readonly since: string;
  readonly ordering_key: string;
  readonly event: string;
}
interface Concerned {
  readonly endpoint: string;
  readonly tenant: string | null;
  readonly url: string | null;
  readonly error?: string | null;
  readonly status_code?: number | null;
  readonly count?: number;
  readonly consecutive_failures?: number;
  readonly reason?: string;
  readonly advice?: Advice;
  readonly held_keys?: HeldKeys;
}

interface Parts {
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Log;
}

/** A chat, or a mailbox. */
export interface Place {
  /** The setting that it comes from, for the log. */
  readonly name: string;
  post(text: string): Promise<Posted>;
}

interface Posted {
  /** `later` means that a retry may succeed. */
  readonly result: "taken" | "refused" | "later";
  /** The status code; null if there was no response. */
  readonly code: number | null;
}

const TIMEOUT_MS = 10_000;
/** Each kind has at most one alert a minute. If more than this many wait, the oldest are dropped. */
const MOST_WAITING = 20;
/** The pause after the first failure in a row, the second, and any later one. */
const PAUSES_MS = [10_000, 60_000, 300_000];
/** Nobody would read more endpoints than this on a phone. */
const NAMED = 5;

/**
 * The queue of one place. It is in memory only, because alerts that must not be lost are also sent as signed events.
 */
export class Outlet {
  readonly #parts: Parts;
  #place: Place | null = null;
  #label = "";
  #waiting: { readonly text: string }[] = [];
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #posting: Promise<void> | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get isOn(): boolean {
    return this.#place !== null;
  }

  /** Sets the place; null turns the outlet off. `label` names this daemon in each text. */
  configure(place: Place | null, label: string): void {
    this.#place = place;
    this.#label = label;
    this.#notBefore = Number.NEGATIVE_INFINITY;
    if (place === null) this.#waiting = [];
  }

  say(type: AlertType, data: AlertData): void {
    if (this.#place === null) return;
    if (this.#waiting.length === MOST_WAITING) this.#waiting.shift();
    this.#waiting.push({ text: textOf(type, data, this.#label) });
  }

  /** Posts the waiting alerts in order. After a failure it pauses, and then posts the same text again. */
  post(): Promise<void> {
    return (this.#posting ??= this.#postAll().finally(() => {
      this.#posting = null;
    }));
  }

  async #postAll(): Promise<void> {
    const { clock, log } = this.#parts;
    while (this.#place !== null && this.#waiting.length > 0 && clock.monotonic() >= this.#notBefore) {
      const [first] = this.#waiting;
      const { name } = this.#place;
      const { result, code } = await this.#place.post(first!.text);
      if (result === "refused") log.warn({ status_code: code }, `${name} refuses an alert`);
      if (result !== "later") {
        this.#failures = 0;
        // The alert may have been dropped from a full queue while it was being posted.
        if (this.#waiting[0] === first) this.#waiting.shift();
        continue;
      }
      if (this.#failures === 0) {
        log.warn({ status_code: code }, `${name} does not accept alerts; they will be retried`);
      }
      this.#notBefore = clock.monotonic() + PAUSES_MS[Math.min(this.#failures++, PAUSES_MS.length - 1)]!;
    }
  }
}

/** Posts in the format of Slack, Mattermost and Rocket.Chat. The URL is a secret too, so no message contains it. */
export function chatAt(url: URL): Place {
  return {
    name: "the chat of [alerts] slack_url",
    async post(text) {
      const code = await postJson(url, JSON.stringify({ text: escaped(text) }));
      const isRefused = code !== null && code >= 400 && code < 500 && code !== 408 && code !== 429;
      return { code, result: isRefused ? "refused" : code !== null && code < 300 ? "taken" : "later" };
    },
  };
}

/** Resolves to the status, or to null if there was no response. */
function postJson(url: URL, body: string): Promise<number | null> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const options = { method: "POST", headers, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) };
  return new Promise((resolve) => {
    const open = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = open(url, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? null);
      response.on("error", () => {});
    });
    request.on("error", () => resolve(null));
    // A chat that hangs must not keep a stopped daemon running.
    request.on("socket", (socket) => socket.unref());
    request.end(body);
  });
}

const TITLES: { readonly [T in AlertType]: string } = {
  "webhookd.endpoint_failing": "Endpoints are failing",
  "webhookd.endpoint_recovered": "Endpoints work again",
  "webhookd.endpoint_disabled": "Endpoints were disabled",
  "webhookd.endpoint_damaged": "Endpoints are damaged: nothing is sent to them",
  "webhookd.deliveries_failed": "Deliveries have failed for good",
  "webhookd.keys_held": "Ordering keys have been held for long: nothing of them is sent",
  "webhookd.storage_low": "The disk is filling up",
  "webhookd.backup_failed": "A backup failed",
  "webhookd.storage_fault": "The store has a fault",
  "webhookd.outbox_fault": "Rows of an outbox are not published",
};

function textOf(type: AlertType, data: AlertData, label: string): string {
  const { total, endpoints, groups, detail, free_bytes: free, floor_bytes: floor } = data;
  const concerned = endpoints ?? groups ?? [];
  const more = concerned.length - NAMED;
  const lines = [
    `${label === "" ? "" : `[${label}] `}${TITLES[type]}${total === undefined ? "" : `: ${total}`}`,
    ...concerned.slice(0, NAMED).flatMap(linesOf),
    ...(more > 0 ? ["and more; to see all of them: webhookd failures"] : []),
    ...(detail === undefined ? [] : [detail]),
    ...(free === undefined ? [] : [`${sizeText(free)} are free; below ${sizeText(floor ?? 0)} new events are refused`]),
  ];
  return lines.map((line) => printable(line)).join("\n");
}

function linesOf({ endpoint, tenant, url, reason, advice, ...one }: Concerned): string[] {
  const { error, status_code: code, count, consecutive_failures: inARow, held_keys: held } = one;
  // Only the host is shown, because a path may be a secret.
  const where = (url === null ? null : URL.parse(url)?.host) ?? endpoint;
  const facts = [
    ...(error === undefined ? [] : [causeText(error, code ?? null)]),
    ...(count === undefined ? [] : [counted(count, "delivery", "deliveries")]),
    ...(inARow === undefined ? [] : [`${inARow} in a row`]),
    ...(reason === undefined ? [] : [reason]),
    ...(held === undefined ? [] : [counted(held.count, "key", "keys")]),
  ];
  return [
    `• ${where} (tenant ${tenant ?? "unknown"}, ${endpoint})${facts.length === 0 ? "" : `: ${facts.join(", ")}`}`,
    ...(advice === undefined ? [] : [`   ${advice.meaning} ${advice.outlook}`]),
    ...(held === undefined ? [] : heldLines(held, endpoint)),
    ...commandLines(advice?.commands.slice(0, 1) ?? []),
  ];
}

function heldLines({ since, ordering_key: key, event }: HeldKeys, endpoint: string): string[] {
  return [`   ${key} has been held by ${event} since ${since}`, ...commandLines(heldKeyCommands(endpoint, event))];
}

function commandLines(commands: Advice["commands"]): string[] {
  return commands.map(({ purpose, line }) => `   ${purpose}: ${line}`);
}

/** These three are the only special characters in Slack's text. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export interface Mail {
  /** The URL begins with smtp:// or smtps://. */
  readonly server: URL;
  /** No message contains the login. */
  readonly login: { readonly user: string; readonly pass: string } | null;
  readonly from: string;
  readonly to: readonly string[];
}

/** The first line becomes the subject. A password is sent only over TLS, or to this host. */
export function mailTo({ server, login, from, to }: Mail): Place {
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const secure = server.protocol === "smtps:";
  const isHere = isLoopback(host);
  const options = {
    host,
    port: server.port === "" ? (secure ? 465 : 587) : Number(server.port),
    secure,
    requireTLS: !secure && login !== null && !isHere,
    // A mail server on this host needs no encryption, and seldom has a certificate.
    ignoreTLS: !secure && isHere,
    ...(login !== null && { auth: login }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  return {
    name: "the mail server of [alerts] smtp_url",
    async post(text) {
      // Loaded late, because most daemons send no mail.
      const { createTransport } = await import("nodemailer");
      // `printable` has removed control characters from outside text, so none of it can begin a header.
      const subject = text.split("\n", 1)[0]!;
      const headers = { "Auto-Submitted": "auto-generated" };
      try {
        await createTransport(options).sendMail({ from, to: [...to], subject, text: `${text}\n`, headers });
        return { result: "taken", code: 250 };
      } catch (error) {
        // The rest of the error is dropped: it may repeat what was sent to the server, such as the password.
        const code = error instanceof Error && "responseCode" in error ? Number(error.responseCode) : null;
        const isRefused =
          error instanceof Error && "command" in error && /^(MAIL|RCPT|DATA)/.test(String(error.command));
        return { result: isRefused && code !== null && code >= 500 ? "refused" : "later", code };
      }
    },
  };
}
