/**
 * Describes requests to the daemon as data: the operation, the purpose of the response, and whether it changes
 * something.
 */
import type { Answers } from "../../src/client/operations.ts";
import type { Ask } from "../../src/client/client.ts";
import type { Fault } from "../../src/client/error.ts";

/** One request to the daemon: an operation of the API by name, and the purpose of the response. */
export type Call = { [O in keyof Answers]: CallOf<O> }[keyof Answers];
/** A request that has not been sent yet. */
export type Request = { [O in keyof Answers]: Omit<CallOf<O>, "about"> }[keyof Answers];
export interface CallOf<O extends keyof Answers> {
  readonly operation: O;
  readonly ask: Ask;
  readonly about: About;
}

export type About =
  | { readonly for: "page"; readonly place: number; readonly generation: number; readonly page: number }
  | { readonly for: "row"; readonly id: string }
  | { readonly for: "act"; readonly key: string }
  /** For the plan dialog with this number. */
  | { readonly for: "plan"; readonly number: number }
  /** Stored in `known`, under the operation and this id. */
  | { readonly for: "known"; readonly id: string };

export type Answered = {
  [O in keyof Answers]: { readonly kind: "answered"; readonly call: CallOf<O>; readonly answer: Answers[O] };
}[keyof Answers];

/** The fields of a `ClientError`. */
export interface Problem {
  readonly failure: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** Faults of single fields of the request. */
  readonly faults?: readonly Fault[];
}

/** A request that changes something in the daemon. */
export interface ActDraft {
  /** Shown while the request runs, such as `replay evt_…`. */
  readonly label: string;
  readonly request: Request;
  /** The event whose next attempt shows the result. Null if the response says everything. */
  readonly event: string | null;
  /** Only the attempt of this delivery shows the result. */
  readonly delivery?: string;
}

/** An act that was sent. */
export interface Act extends ActDraft {
  /** The idempotency key. An act whose response was lost is sent again under the same key. */
  readonly key: string;
  readonly call: Call;
  /** The time at which its phase began. */
  readonly at: number;
  /**
   * `sent`: no response yet. `waiting`: the daemon is away, and the act is sent again when it is back. `done`: waiting
   * to see its effect.
   */
  readonly phase: "sent" | "waiting" | "done";
  /** The number of times it was sent. */
  readonly tries: number;
}
