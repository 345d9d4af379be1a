/**
 * Long reads. A reader takes each question and answers in slices, so that no write waits for it. Reads of one row, or
 * of memory, need no reader.
 */
import { WebhookdError, type ErrorCode, type FieldError } from "../../../domain/errors.ts";
import type { EndpointHeldKeys } from "../../../domain/deliveries/ordering.ts";
import type { AuditRecord } from "../../../domain/caller.ts";
import type {
  Attempt,
  AttemptQuery,
  AuditQuery,
  Caller,
  DeliveryQuery,
  DeliveryView,
  EndpointAttemptQuery,
  EventQuery,
  EventSummary,
  EventView,
  FailureQuery,
  FailureReport,
  JobPlan,
  JobSet,
  LeftAlone,
  Page,
  TenantQuery,
  TenantSummary,
} from "../../store.ts";
import { systemCode } from "../../files/refused.ts";
import type { Engine } from "../engine/engine.ts";
import type { NativeBinding } from "../engine/open-database.ts";
import { readHere, type Reading } from "../engine/page.ts";
import type { StoredCounts } from "../../rows/counts.ts";

/** Arguments and results are plain values, which can be sent as messages. */
export interface Questions {
  listEvents(query: EventQuery): Page<EventSummary>;
  listWholeEvents(query: EventQuery): Page<EventView>;
  listDeliveries(query: DeliveryQuery): Page<DeliveryView>;
  listAttempts(query: AttemptQuery): Page<Attempt> | null;
  listEndpointAttempts(query: EndpointAttemptQuery): Page<Attempt> | null;
  listTenants(query: TenantQuery): Page<TenantSummary>;
  listAudit(query: AuditQuery): Page<AuditRecord>;
  failures(query: FailureQuery): FailureReport | null;
  longestHeldKeys(endpoints: number): readonly EndpointHeldKeys[];
  /** Returns the parts of each subject. */
  sumMinutes(asked: readonly MinutesAsked[]): readonly (readonly (StoredCounts | null)[])[];
  planJob(set: JobSet): JobPlan;
  /** Returns the set in pieces, because it may be as large as the store. */
  selectForJob(set: JobSet): void;
}

/** The values that come before the answer. */
export interface Pieces extends Record<keyof Questions, unknown> {
  selectForJob: readonly Selected[];
}

export type Question = keyof Questions;
export type Asked<Q extends Question> = Parameters<Questions[Q]>[0];
export type Answer<Q extends Question> = ReturnType<Questions[Q]>;
export type Answers = { readonly [Q in Question]: (asked: Asked<Q>) => Reading<Answer<Q>, Pieces[Q]> };

export interface Asking<Q extends Question> {
  readonly caller?: Caller | undefined;
  /** Awaited before more is read. */
  readonly onPiece?: (piece: Pieces[Q]) => Promise<unknown>;
}

export interface Reader {
  ask<Q extends Question>(question: Q, asked: Asked<Q>, asking?: Asking<Q>): Promise<Answer<Q>>;
  /** Once this resolves, nothing more is read. */
  close(): Promise<void>;
}

/** The minutes from `first` until before `end`, in parts of `step` minutes. */
export interface MinutesAsked {
  readonly subject: number;
  readonly first: number;
  readonly end: number;
  readonly step: number;
  /** Minutes for which memory has newer counts. */
  readonly except: readonly number[];
}

/** A delivery that a job may include. */
export interface Selected {
  readonly event: number;
  readonly endpoint: number;
  /** The reason why it cannot be sent. Null if the job includes it. */
  readonly left: LeftAlone["reason"] | null;
}

/** Takes turns between callers. Each caller's tasks keep their order. */
export class Turns<T> {
  readonly #callers = new Map<string, T[]>();

  add(caller: string, task: T): void {
    const tasks = this.#callers.get(caller);
    if (tasks === undefined) this.#callers.set(caller, [task]);
    else tasks.push(task);
  }

  remove(caller: string, task: T): void {
    const left = this.#callers.get(caller)?.filter((other) => other !== task) ?? [];
    if (left.length === 0) this.#callers.delete(caller);
    else this.#callers.set(caller, left);
  }

  /** Returns the next task without removing it, and moves its caller to the end of the queue. */
  next(): T | undefined {
    const first = this.#callers.entries().next().value;
    if (first === undefined) return undefined;
    const [caller, tasks] = first;
    this.#callers.delete(caller);
    this.#callers.set(caller, tasks);
    return tasks[0];
  }
}

/**
 * A reader on the writer's thread, which yields after each slice. It is for tests, and for stores that want no thread.
 */
export class ReaderHere implements Reader {
  readonly #engine: Engine;
  readonly #answers: () => Answers;

  constructor(engine: Engine, answers: () => Answers) {
    this.#engine = engine;
    this.#answers = answers;
  }

  async ask<Q extends Question>(question: Q, asked: Asked<Q>, asking: Asking<Q> = {}): Promise<Answer<Q>> {
    const { read } = this.#engine;
    let gone = false;
    const stop = asking.caller?.whenGone(() => (gone = true));
    const turn = async () => {
      await this.#engine.turn();
      if (gone) throw callerGone();
    };
    // Every answer is read in slices of the same kind, but TypeScript sees a union of functions.
    const begin = this.#answers()[question] as (asked: Asked<Q>) => Reading<Answer<Q>, Pieces[Q]>;
    try {
      return await readHere(() => begin(asked), { read, turn, ...asking });
    } finally {
      stop?.();
    }
  }

  async close(): Promise<void> {}
}

/** Returns the error for a caller that has gone and will not receive it. */
export function callerGone(): WebhookdError {
  return new WebhookdError("request_timeout", "the client went away before it was answered");
}

// --- messages between the writer's thread and its reader: each has a `kind` ---

export interface ReaderThreadData {
  readonly database: string;
  readonly nativeBinding: NativeBinding | undefined;
  /** The key of the marks on cursors. */
  readonly markKey: Uint8Array;
}

export type ToReader =
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly caller: string;
      readonly question: Question;
      readonly asked: Asked<Question>;
    }
  /** The piece was handled. */
  | { readonly kind: "more"; readonly id: number }
  /** Nobody is waiting for the answer any more. */
  | { readonly kind: "drop"; readonly id: number }
  /** Nothing may be read until `go`. The reader replies with `resting`. */
  | { readonly kind: "rest" }
  | { readonly kind: "go" };

export type FromReader =
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer<Question> }
  | { readonly kind: "piece"; readonly id: number; readonly piece: Pieces[Question] }
  | { readonly kind: "error"; readonly id: number; readonly error: SentError }
  | { readonly kind: "resting" };

/** An error as a value, because classes do not survive a message. */
export type SentError =
  | { readonly refused: ErrorCode; readonly detail: string; readonly errors: readonly FieldError[] }
  | { readonly name: string; readonly message: string; readonly code: string };

export function sentError(error: unknown): SentError {
  if (error instanceof WebhookdError) return { refused: error.code, detail: error.detail, errors: error.errors };
  const { name, message } = error instanceof Error ? error : { name: typeof error, message: "" };
  return { name, message, code: systemCode(error) };
}

export function receivedError(sent: SentError): Error {
  if ("refused" in sent) return new WebhookdError(sent.refused, sent.detail, { errors: sent.errors });
  const { name, message, code } = sent;
  return Object.assign(new Error(message), { name, code });
}
