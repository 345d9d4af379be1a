/** What comes back from the sender: whose fault each end was, and what may follow once it is recorded. */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Waiting } from "../store/store.ts";
import type { Disabling } from "./disabling.ts";
import type { OutageWatch } from "./outage-watch.ts";
import type { Pauses } from "./pauses.ts";
import type { EndedClaim, Recorder } from "./recorder.ts";
import type { Ended, Sending } from "./send/sending.ts";
import type { Shortage } from "./shortage.ts";
import type { Windows } from "./windows.ts";

export interface EndsParts {
  readonly clock: Clock;
  readonly windows: Windows;
  readonly pauses: Pick<Pauses, "has">;
  readonly sending: Pick<Sending, "cap">;
  readonly shortage: Pick<Shortage, "wait">;
  readonly outage: Pick<OutageWatch, "sort">;
  readonly disabling: Pick<Disabling, "look">;
  readonly recorder: Pick<Recorder, "record">;
  readonly release: (claim: Claim) => void;
  readonly wake: () => void;
}

export class Ends {
  readonly #parts: EndsParts;

  constructor(parts: EndsParts) {
    this.#parts = parts;
  }

  /** All of them are held. */
  take(batch: readonly Ended[]): void {
    const { outage, pauses, shortage, windows } = this.#parts;
    const claims: EndedClaim[] = [];
    for (const ended of batch) {
      const claim = windows.find(ended.endpoint, ended.delivery);
      if (claim === undefined) throw new Error(`${ended.delivery} ended and was not held`);
      const { evidence, ours, detail } = ended.outcome;
      if (ours && evidence !== "cut_off" && !pauses.has("stopping")) shortage.wait(claim, detail);
      else claims.push({ claim, ended });
    }
    const decided = outage.sort(claims);
    if (decided.length > 0) this.record(decided);
  }

  /** It is known whose fault they were. */
  record(ended: readonly EndedClaim[]): void {
    for (const each of ended) this.#parts.disabling.look(each.claim, each.ended);
    this.#parts.recorder.record(ended);
  }

  /** Its end leaves room for what waits behind the window; `waiting` says where its delivery now waits, if it does. */
  recorded(claim: Claim, waiting: Waiting | null): void {
    const { clock, release, sending, wake, windows } = this.#parts;
    release(claim);
    if (waiting !== null) windows.noteWaiting(waiting);
    const window = windows.of(claim.endpoint);
    // Read in halves of a window, not row by row.
    if (window.nextDueAt > clock.now() || window.held.size > sending.cap(claim.endpoint)) return;
    windows.plan(window);
    wake();
  }
}
