/** What is asked of the daemon, as data: what the answer is for, and what changes something. */
import type { Answers } from "../../src/client/operations.ts";
import type { Ask } from "../../src/client/client.ts";
import type { Fault } from "../../src/client/error.ts";

/** One question to the daemon: an operation of the API by name, and what the answer is for. */
export type Call = { [O in keyof Answers]: CallOf<O> }[keyof Answers];
/** One that has not been asked yet. */
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
  /** Of the plan dialog with this number. */
  | { readonly for: "plan"; readonly number: number }
  /** Into `known`, under the operation and this. */
  | { readonly for: "known"; readonly id: string };

export type Answered = {
  [O in keyof Answers]: { readonly kind: "answered"; readonly call: CallOf<O>; readonly answer: Answers[O] };
}[keyof Answers];

/** Of a `ClientError`. */
export interface Problem {
  readonly failure: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** Of the fields of what was sent. */
  readonly faults?: readonly Fault[];
}

/** Something to ask of the daemon that changes something. */
export interface ActDraft {
  /** What is said while it runs: `replay evt_…`. */
  readonly label: string;
  readonly request: Request;
  /** The event whose next attempt tells how it went; null where the answer says it all. */
  readonly event: string | null;
  /** Only the attempt of this one delivery tells it. */
  readonly delivery?: string;
}

/** One that was asked. */
export interface Act extends ActDraft {
  /** The idempotency key: an act whose answer was lost is sent again under the same one. */
  readonly key: string;
  readonly call: Call;
  /** Since when it is in its phase. */
  readonly at: number;
  /** `sent`: no answer yet. `waiting`: the daemon went away; sent again when it is back. `done`: its effect is awaited. */
  readonly phase: "sent" | "waiting" | "done";
  /** How often it was sent. */
  readonly tries: number;
}
