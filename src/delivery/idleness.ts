/** Who waits until nothing is left to do. */
export class Idleness {
  readonly #isIdle: () => boolean;
  #waiters: (() => void)[] = [];

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle;
  }

  /** Resolves at the first look that finds nothing left to do; this call is one. */
  reached(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.look();
    });
  }

  /** To be called whenever something has come to its end. */
  look(): void {
    if (this.#waiters.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
