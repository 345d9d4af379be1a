/**
 * Marks each delivery on the disk before it is dialled, so that a process that dies leaves word of what was on the
 * wire. It costs a commit for each hand-over: only for a process that has died twice in quick succession.
 */
import type { AddressRules } from "../domain/network/address.ts";
import type { Send } from "../domain/deliveries/delivery.ts";
import type { Target } from "../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { RecoveryStore } from "../store/store.ts";
import type { Sending } from "./send/sender.ts";

export class CarefulSending implements Sending {
  readonly #inner: Sending;
  readonly #store: { readonly recovery: Pick<RecoveryStore, "markStarted"> };
  readonly #onFault: (error: unknown) => void;
  /**
   * What the store would not mark (a full disk), which stays unsent until it is tried again; and what came while
   * nothing may start: a death in a pause must not count against deliveries that nobody dialled.
   */
  #unmarked: Send[] = [];
  #paused = false;
  #marking: Promise<void> = Promise.resolve();

  constructor(
    inner: Sending,
    store: { readonly recovery: Pick<RecoveryStore, "markStarted"> },
    onFault: (error: unknown) => void,
  ) {
    this.#inner = inner;
    this.#store = store;
    this.#onFault = onFault;
  }

  get inFlight(): number {
    return this.#inner.inFlight;
  }

  cap(endpoint: string): number {
    return this.#inner.cap(endpoint);
  }

  setTarget(target: Target): Promise<void> {
    return this.#inner.setTarget(target);
  }

  setEgress(rules: AddressRules): void {
    this.#inner.setEgress(rules);
  }

  send(sends: readonly Send[]): void {
    this.#marking = this.#marking.then(async () => {
      if (this.#paused) this.#unmarked.push(...sends);
      else await this.#mark([...this.#unmarked.splice(0), ...sends]);
    });
  }

  async forget(endpoint: string): Promise<readonly string[]> {
    await this.#marking;
    const unmarked = this.#unmarked.filter((send) => send.endpoint === endpoint);
    this.#unmarked = this.#unmarked.filter((send) => send.endpoint !== endpoint);
    return [...unmarked.map(({ delivery }) => delivery), ...(await this.#inner.forget(endpoint))];
  }

  pause(): Promise<void> {
    this.#paused = true;
    return this.#inner.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#inner.resume();
    this.retry();
  }

  /** Each second: on trial nothing else is handed over, so that one commit that failed would hold up all for good. */
  retry(): void {
    if (!this.#paused && this.#unmarked.length > 0) this.send([]);
  }

  probe(): void {
    this.#marking = this.#marking.then(async () => {
      await this.#mark(this.#unmarked.splice(0, 1));
      this.#inner.probe();
    });
  }

  async drain(): Promise<void> {
    await this.#marking;
    await this.#inner.drain();
  }

  abort(): void {
    this.#inner.abort();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #mark(sends: readonly Send[]): Promise<void> {
    try {
      await this.#store.recovery.markStarted(sends);
      this.#inner.send(sends);
    } catch (error) {
      this.#unmarked.push(...sends);
      if (!(error instanceof WebhookdError)) this.#onFault(error);
    }
  }
}
