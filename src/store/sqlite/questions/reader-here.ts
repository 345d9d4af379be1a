/** A reader on the thread that writes, which gives way after each slice: for tests, and where no thread is wanted. */
import { WebhookdError } from "../../../domain/errors.ts";
import type { Engine } from "../engine/engine.ts";
import { readHere, type Reading } from "../engine/page.ts";
import type { Answer, Answers, Asked, Asking, Pieces, Question, Reader } from "./questions.ts";

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
    // Every answer is read in slices of the same kind; TypeScript sees a union of functions.
    const begin = this.#answers()[question] as (asked: Asked<Q>) => Reading<Answer<Q>, Pieces[Q]>;
    try {
      return await readHere(() => begin(asked), { read, turn, ...asking });
    } finally {
      stop?.();
    }
  }

  async close(): Promise<void> {}
}

/** Nobody hears it. */
export function callerGone(): WebhookdError {
  return new WebhookdError("request_timeout", "the client went away before it was answered");
}
