/** What this process sends for is its own for as long as it renews that. Once it may be another's, nothing is started. */
import type { Clock } from "../clock.ts";
import type { Store } from "../store/store.ts";
import type { Halts } from "./memory/halts.ts";
import type { Sending } from "./send/sender.ts";

/** What was handed to a sender begins a little later: sending stops so long before the lease ends. */
const MARGIN_MS = 1000;

export interface LeaseParts {
  readonly store: Pick<Store, "ownership">;
  readonly clock: Clock;
  readonly halts: Halts;
  readonly sending: Pick<Sending, "pause" | "resume">;
}

export class Lease {
  readonly #parts: LeaseParts;
  #isForGood = false;
  #cancelLapse: () => void = () => {};

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** Each second. Rejects while the store cannot be reached. */
  async renew(): Promise<void> {
    if (this.#isForGood) return;
    const { clock, halts, sending, store } = this.#parts;
    const begun = clock.monotonic();
    const { holdsForMs } = await store.ownership.renew();
    this.stop();
    if (halts.end("lease")) sending.resume();
    this.#isForGood = holdsForMs === Number.POSITIVE_INFINITY;
    if (this.#isForGood) return;
    const left = begun + holdsForMs - MARGIN_MS - clock.monotonic();
    this.#cancelLapse = clock.after(Math.max(0, left), () => {
      halts.begin("lease", "the lease on the database could not be renewed in time", clock.now());
      void sending.pause();
    });
  }

  stop(): void {
    this.#cancelLapse();
  }
}
