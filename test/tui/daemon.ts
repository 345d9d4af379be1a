/** The dashboard's state and reducer with a fake daemon, which responds at once. */
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { anAuditRecord } from "../../src/api/daemon/audit.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { anEventType } from "../../src/api/event-types/schemas.ts";
import { anEvent, anEventSummary } from "../../src/api/events/schemas.ts";
import { anExplanation } from "../../src/api/events/why.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { aJob, aJobPlan } from "../../src/api/jobs/schemas.ts";
import { someSecrets } from "../../src/api/endpoints/secrets.ts";
import { someStatistics } from "../../src/api/reports/statistics.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import type { Job, JobDraft, JobPlan } from "../../src/client/operations.ts";
import type { StreamMessage } from "../../src/client/stream.ts";
import { frameOf } from "../../tui/frame.ts";
import type { KeyName } from "../../tui/keystrokes.ts";
import type { Call } from "../../tui/model/call.ts";
import type { Tab } from "../../tui/model/list.ts";
import type { Effect, Message, Settings, Size, State } from "../../tui/model/state.ts";
import { initialState, reduce } from "../../tui/state/reduce.ts";

export const NOW = Date.parse("2026-11-20T10:00:00.000Z");
export const LOOK = { color: true, ascii: false };

export const SETTINGS: Settings = {
  target: "/run/webhookd/webhookd.sock",
  version: aStatus.version,
  label: "",
  readOnly: false,
  look: LOOK,
  mouse: true,
  refreshMs: 250,
  session: "s",
};

/** Returns the id of the nth object of a kind. A greater `n` is later. */
export function idOf(prefix: string, n: number): string {
  return `${prefix}_${String(n).padStart(26, "0")}`;
}

export const TYPES = ["budget.exceeded", "transaction.created", "transaction.enriched"];
export const NEW_ENDPOINT = idOf("ep", 99);
export const SECRET = `whsec_${"Kz8v".repeat(10)}Kzs=`;

/** The contents of the fake daemon. Tests override the part that they are about. */
export interface Holds {
  /** The number of events. The newest has the greatest number. */
  readonly events?: number;
  /** This text stands wherever others than operators may write. */
  readonly text?: string;
  readonly status?: string;
  readonly endpoints?: 0 | 1;
  /** Responses in place of the usual ones, by operation. */
  readonly instead?: { readonly [operation: string]: unknown };
  /** By default one running job. */
  readonly jobs?: readonly Partial<Job>[];
  /** Members that replace those of a plan for many deliveries. */
  readonly plan?: Partial<JobPlan>;
}

export class FakeDaemon {
  readonly asked: Call[] = [];
  readonly holds: { -readonly [H in keyof Required<Holds>]: Required<Holds>[H] };

  constructor({
    events = 250,
    text = "plain",
    status = "failed",
    endpoints = 1,
    instead = {},
    jobs = [{}],
    plan = {},
  }: Holds = {}) {
    this.holds = { events, text, status, endpoints, instead, jobs, plan };
  }

  answer(call: Call): unknown {
    this.asked.push(call);
    const { text, status, instead } = this.holds;
    if (Object.hasOwn(instead, call.operation)) return instead[call.operation];
    const { id = idOf("evt", 1), query = {} } = call.ask;
    const attempt = { ...anAttempt, url: `https://example.com/${text}`, detail: text, response_body: text };
    const endpoint = { ...anEndpoint, url: `https://example.com/${text}`, description: text };
    const delivery = { ...aWholeDelivery, status, last_attempt: attempt, type: text };
    switch (call.operation) {
      case "listEvents":
        return this.#page(query, (n) => this.#event(n));
      case "listDeliveries":
        return this.#page(query, (n) => ({ ...delivery, id: idOf("dlv", n), event: idOf("evt", n) }));
      case "listEndpoints":
        return { data: this.holds.endpoints === 0 ? [] : [endpoint], next_cursor: null };
      case "getEndpoint":
        return { ...endpoint, id, health: aHealth };
      case "listFailures":
        return someFailures;
      case "listAudit":
        return { data: [{ ...anAuditRecord, actor: text }], next_cursor: null };
      case "listJobs":
        return { data: this.holds.jobs.map((job) => ({ ...aJob, reason: text, ...job })), next_cursor: null };
      case "createJob": {
        const { dry_run: isPlan, ...draft } = call.ask.body as JobDraft;
        const job = { ...aJob, ...draft, id: idOf("job", this.asked.length) };
        return isPlan ? { ...aJobPlan, ...this.holds.plan } : { ...job, done: 0, delivered: 0, failed: 0, skipped: 0 };
      }
      case "attemptDelivery":
        return { ...delivery, id };
      case "cancelEvent":
        return { ...anEventSummary, id, status: "cancelled", cancelled: 1 };
      case "pauseDaemon":
        return { paused: { ...(call.ask.body as { reason: string }), by: text, at: new Date(NOW).toISOString() } };
      case "resumeDaemon":
        return { paused: null };
      case "pauseJob":
        return { ...aJob, id, status: "paused" };
      case "resumeJob":
        return { ...aJob, id };
      case "cancelJob":
        return { ...aJob, id, status: "cancelled", ended_at: aJob.created_at };
      case "getStatistics":
        return someStatistics;
      case "getStatus":
        return aStatus;
      case "getEvent":
        return { ...anEvent, ...this.#event(1), id, data: { [text]: text } };
      case "explainEvent":
        return {
          ...anExplanation,
          event: id,
          endpoint: call.ask.query!["endpoint"],
          sentence: `It is held by ${text}.`,
        };
      case "getDelivery":
        return { ...delivery, id };
      case "listEventAttempts":
        return { data: [{ ...attempt, event: id }], next_cursor: null };
      case "listEndpointAttempts":
        return { data: [attempt], next_cursor: null };
      case "getAttempt":
        return attempt;
      case "replayEvent":
        return { ...anEvent, id, left_alone: [] };
      case "listEventTypes":
        return { data: TYPES.map((name) => ({ ...anEventType, name })), next_cursor: null };
      case "registerEndpoint":
        return { ...endpoint, id: NEW_ENDPOINT, ...(call.ask.body as object), signing_secret: SECRET };
      case "changeEndpoint":
        return { ...endpoint, id, ...(call.ask.body as object) };
      case "deleteEndpoint":
      case "abandonRotation":
        return null;
      case "rotateSecret":
        return { ...someSecrets, next_signing_secret: SECRET };
      case "completeRotation":
        return { signing_secret: SECRET };
      case "sendTestEvent":
        return { ...attempt, trigger: "test", retry: null, endpoint: id };
      default:
        throw new Error(`nobody told the fake daemon what ${call.operation} answers`);
    }
  }

  #event(n: number) {
    const { text, status } = this.holds;
    const last_attempt = { ...anAttempt, detail: text };
    const deliveries = [{ ...anEvent.deliveries[0], status, last_attempt }];
    const received_at = new Date(NOW - (this.holds.events - n) * 60_000).toISOString();
    return { ...anEventSummary, id: idOf("evt", n), type: text, status, received_at, deliveries };
  }

  #page(query: Readonly<Record<string, unknown>>, make: (n: number) => unknown) {
    const {
      limit = 20,
      order,
      cursor = 0,
      total,
    } = query as Partial<Record<"limit" | "cursor" | "total", number>> & {
      order?: string;
    };
    const start = Number(cursor);
    const count = Math.min(limit, this.holds.events - start);
    const data = Array.from({ length: count }, (_, index) =>
      make(order === "oldest" ? start + index + 1 : this.holds.events - start - index),
    );
    const next_cursor = start + count < this.holds.events ? String(start + count) : null;
    return { data, next_cursor, ...(total !== undefined && { total: this.holds.events, total_is: "exact" }) };
  }
}

export interface Setup extends Holds {
  readonly size?: Size;
  readonly tab?: Tab;
  readonly settings?: Partial<Settings>;
}

/** The reducer with its daemon. Calls are answered at once, and other effects are recorded. */
export class Dashboard {
  state: State;
  now = NOW;
  readonly daemon: FakeDaemon;
  /** Effects other than answered calls. */
  readonly effects: Effect[] = [];
  /** False leaves calls unanswered. */
  answers = true;

  constructor({ size = { columns: 80, rows: 24 }, tab = "events", settings = {}, ...holds }: Setup = {}) {
    this.daemon = new FakeDaemon(holds);
    this.state = initialState({ now: NOW, size, settings: { ...SETTINGS, ...settings }, tab });
  }

  connected(): this {
    return this.stream({ kind: "ready", data: {} });
  }

  say(said: Partial<Message> & { kind: Message["kind"] }): this {
    const step = reduce(this.state, { ...said, now: this.now } as Message);
    this.state = step.state;
    for (const effect of step.effects) this.#carryOut(effect);
    return this;
  }

  #carryOut(effect: Effect): void {
    if (effect.do !== "call" || !this.answers) {
      this.effects.push(effect);
      return;
    }
    const answer = this.daemon.answer(effect.call);
    this.say({ kind: "answered", call: effect.call, answer } as never);
  }

  /** Sends each key in a chunk of its own. */
  press(...keys: KeyName[]): this {
    for (const key of keys) this.say({ kind: "keys", keys: [key] });
    return this;
  }

  type(text: string): this {
    return this.press(...Array.from(text, (char) => (char === " " ? "space" : char)));
  }

  stream(...messages: StreamMessage[]): this {
    return this.say({ kind: "stream", messages } as never);
  }

  pass(ms: number): this {
    this.now += ms;
    return this.say({ kind: "tick" });
  }
}

/** Returns the screen without its colours. */
export function shown({ state }: Dashboard): string {
  return frameOf(state)
    .map((line) => line.replaceAll(/\x1b\[[0-9;]*m/g, ""))
    .join("\n");
}

export function asked({ daemon }: Dashboard, operation: string): Call[] {
  return daemon.asked.filter((call) => call.operation === operation);
}
