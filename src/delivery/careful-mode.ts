/** Sends more carefully after a process has died, because one of its deliveries may have killed it. */
import type { Clock } from "../clock.ts";
import { deadly, type Outcome } from "../domain/deliveries/attempt.ts";
import type { Claim, Send } from "../domain/deliveries/delivery.ts";
import type { Target } from "../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { AddressRules } from "../domain/network/address.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, RecoveryStore, Store, Suspect } from "../store/store.ts";
import { tried } from "./core/disk.ts";
import { ended } from "./core/lifecycle.ts";
import type { Executor } from "./executor.ts";
import type { Sending } from "./send/sender.ts";

/**
 * Marks each delivery on the disk before connecting, so that a process that dies leaves a record of what was on the
 * wire. Marking costs a commit for each hand-over, so it is done only after two deaths in quick succession.
 */
export class CarefulSending implements Sending {
  readonly #inner: Sending;
  readonly #store: { readonly recovery: Pick<RecoveryStore, "markStarted"> };
  readonly #onFault: (error: unknown) => void;
  /**
   * Sends that have not been handed over: the store could not mark them (a full disk), or they arrived while sending
   * was paused. Nothing is marked during a pause, because a death then must not count against deliveries that were not
   * being sent.
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

  async forget(endpoint: string, isGone = false): Promise<readonly string[]> {
    await this.#marking;
    const unmarked = this.#unmarked.filter((send) => send.endpoint === endpoint);
    this.#unmarked = this.#unmarked.filter((send) => send.endpoint !== endpoint);
    return [...unmarked.map(({ delivery }) => delivery), ...(await this.#inner.forget(endpoint, isGone))];
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

  /**
   * Called every second. During a trial nothing else is handed over, so without this one failed commit would hold up
   * all sending for good.
   */
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

export interface TrialParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
}

/**
 * After the process has died, sends what was on the wire first and one by one, so that another death identifies the
 * guilty delivery. At three deaths its attempt counts as failed, and everything else goes on. The trial ends after the
 * first minute of the process. Otherwise a thousand suspects of a receiver that hangs would keep all others waiting for
 * hours. Suspects not tried by then are sent with the others.
 */
export class Trial {
  readonly #parts: TrialParts;
  readonly #executor: Executor;
  /** Deliveries that were withdrawn before they were tried. */
  readonly #withdrawn = new Set<string>();
  readonly #over = new AbortController();

  constructor(parts: TrialParts, executor: Executor) {
    this.#parts = parts;
    this.#executor = executor;
  }

  async run(suspects: readonly Suspect[]): Promise<void> {
    const { log, store } = this.#parts;
    const { halts } = this.#executor.memory;
    log.warn(
      { suspects: suspects.length },
      "the process died while these were being sent; now each is sent alone, and everything else waits for at most a minute",
    );
    halts.onTrial = true;
    // Suspects with the most deaths go first, because the minute may not be enough for all.
    for (const { claim, interruptions } of suspects.toSorted((a, b) => b.interruptions - a.interruptions)) {
      if (this.#over.signal.aborted) break;
      const { delivery, trigger } = claim;
      if (this.#withdrawn.has(delivery)) continue;
      // Disabling an endpoint cancels the attempts that were requested by hand; its other deliveries go back to the
      // disk.
      if (trigger === "manual" && (await store.deliveries.requestedAttempt(delivery)) === null) continue;
      const verdict = deadly(interruptions, "process");
      this.#executor.do(tried(this.#executor.memory, claim, verdict === null));
      const released = this.#executor.released(claim, this.#over.signal);
      if (verdict !== null) await this.#convict(claim, verdict);
      await released;
    }
    halts.onTrial = false;
    this.#withdrawn.clear();
  }

  /** Called when the process has survived its first minute. */
  end(): void {
    this.#over.abort();
  }

  withdraw(deliveries: readonly EventDelivery[]): void {
    if (this.#executor.memory.halts.onTrial) for (const { delivery } of deliveries) this.#withdrawn.add(delivery);
  }

  async #convict({ event, delivery, endpoint }: Claim, outcome: Outcome): Promise<void> {
    this.#parts.log.error({ event, delivery, endpoint }, outcome.detail);
    const url = (await this.#executor.lookUp(endpoint))?.url ?? "";
    const end = { delivery, endpoint, url, startedAt: this.#parts.clock.now(), secretVersion: null, outcome };
    this.#executor.do(ended(this.#executor.memory, [end], this.#executor.now()));
  }
}
