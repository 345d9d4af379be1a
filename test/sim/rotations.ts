/** An operator who rotates secrets as the API does. The response comes once the senders have the keys. */
import { newSigningSecret } from "../../src/domain/endpoints/secret.ts";
import type { Rotation } from "../../src/store/store.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import type { SimSecret, SimSecrets } from "./secrets.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

export class Rotations {
  readonly #random: Random;
  readonly #now: () => number;
  /** The next secret of each endpoint, as far as the operator knows. */
  readonly #under = new Map<string, { secret: SimSecret; switchesAt: number }>();

  constructor(random: Random, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  /** Begins a rotation, or completes or abandons the current one, or lets time end it. */
  touch(process: Process, endpoint: string, secrets: SimSecrets): void {
    const under = this.#under.get(endpoint);
    if (under === undefined || under.switchesAt <= this.#now()) this.#rotate(process, endpoint, secrets);
    else this.#random.pick([this.#complete, this.#abandon, () => {}]).call(this, process, endpoint, under.secret);
  }

  #rotate(process: Process, endpoint: string, secrets: SimSecrets): void {
    const now = this.#now();
    const text = newSigningSecret((bytes) => this.#random.bytes(bytes));
    const switchesAt = now + this.#random.pick([0, 1000, 5000, 30_000]);
    const secret = secrets.give(text, switchesAt);
    this.#under.delete(endpoint);
    const answer = process.store.secrets.rotate(null, endpoint, { secret: text, switchesAt }, now);
    unawaited(
      this.#told(process, endpoint, answer, () => {
        if (switchesAt <= now) return secret.completed();
        secret.rotated(switchesAt);
        this.#under.set(endpoint, { secret, switchesAt });
      }),
    );
  }

  #complete(process: Process, endpoint: string, secret: SimSecret): void {
    secret.ending();
    secret.completing();
    this.#under.delete(endpoint);
    const answer = process.store.secrets.complete(null, endpoint, this.#now());
    unawaited(this.#told(process, endpoint, answer, () => secret.completed()));
  }

  #abandon(process: Process, endpoint: string, secret: SimSecret): void {
    secret.ending();
    this.#under.delete(endpoint);
    unawaited(this.#told(process, endpoint, process.store.secrets.abandon(null, endpoint), () => secret.abandoned()));
  }

  /**
   * Runs `done` if the call succeeds. The operator learns nothing from a call that fails, or from a process that dies.
   */
  async #told(process: Process, endpoint: string, answer: Promise<Rotation>, done: () => void): Promise<void> {
    try {
      const { result } = await answer;
      if (result !== "done") return;
      await process.dispatcher.refresh(endpoint);
      if (process.alive) done();
    } catch {
      // A full disk refused it.
    }
  }
}
