/** Whether this host's DNS resolvers answer anything, asked one question at a time and waited for only so long. */
import type { Clock } from "../clock.ts";

/** However many resolvers there are, and however patient the question itself is. */
const PATIENCE_MS = 3000;

export class ResolverCheck {
  readonly #clock: Clock;
  readonly #ask: () => Promise<string | null>;
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Clock, ask: () => Promise<string | null>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Why they are of no use to anybody, or null. Stays unanswered after `cancel`. */
  async run(): Promise<string | null> {
    const why = await new Promise<string | null>((resolve) => {
      const late = () => resolve(`this host's DNS resolvers gave no answer within ${PATIENCE_MS / 1000} s`);
      this.#cancelTimer = this.#clock.after(PATIENCE_MS, late);
      void this.#ask().then(resolve, () => resolve(null));
    });
    this.cancel();
    return why;
  }

  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}
