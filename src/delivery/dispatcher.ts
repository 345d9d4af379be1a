/**
 * Which deliveries come next. It keeps a window of pending deliveries per endpoint in memory, reads what has fallen
 * due behind them, hands them to the sender, and has recorded what came of each.
 *
 *   publish ──fresh──► window ──► sending ──ended──► recorder ──► released
 *      └──waiting──► disk ──due──► window                └──retry──► disk
 */
import type { Claim } from "../domain/delivery.ts";
import type { Halt } from "../domain/pause.ts";
import type { EventDelivery, Handover } from "../store/store.ts";
import type { Deliveries } from "./deliveries.ts";
import type { DispatcherParts } from "./dispatcher-parts.ts";
import { EndpointChanges } from "./endpoint-changes.ts";
import { endpointsOwed } from "./horizon-sweep.ts";
import { Idleness } from "./idleness.ts";
import { Inbound } from "./inbound.ts";
import { Outbound } from "./outbound.ts";

/** A death of the process after this long is no sign of a deadly delivery. */
const YOUNG_MS = 60_000;

export class Dispatcher implements Deliveries {
  readonly #parts: DispatcherParts;
  readonly #out: Outbound;
  readonly #in: Inbound;
  readonly #changes: EndpointChanges;
  readonly #idleness = new Idleness(() => this.#isIdle());
  #youngUntil: number;
  #tookUp = true;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#youngUntil = parts.clock.monotonic() + YOUNG_MS;
    const wake = () => this.wake();
    const onRest = () => this.#idleness.look();
    this.#out = new Outbound(parts, {
      onReleased: (delivery) => {
        this.#in.suspects.released();
        this.#in.manual.released(delivery);
      },
      onCommitted: () => {
        this.#in.waker.arm();
        onRest();
      },
      onDisabled: (endpoint) => this.refresh(endpoint),
      wake,
      onRest,
    });
    this.#in = new Inbound(parts, this.#out, { onRepaired: (endpoint) => this.refresh(endpoint), onRest });
    const { manual } = this.#in;
    this.#changes = new EndpointChanges({ ...parts, ...this.#out, manual, wake, onRest });
  }

  /** Finds out who is owed something. Nothing is read of what is owed until it is due. */
  async start(): Promise<void> {
    const { clock, store, onFault } = this.#parts;
    const { shift } = this.#out;
    const { manual, suspects } = this.#in;
    if ((await store.operations.getPause()) !== null) await this.pause();
    this.#tookUp = await store.recovery.takeUp();
    await this.#findOwed();
    if (store.recovery.lastInstant > clock.now()) shift.clamp();
    await manual.load();
    const found = await store.recovery.suspects();
    const trial = found.length === 0 ? Promise.resolve() : suspects.try(found);
    void trial.then(() => {
      this.wake();
      manual.retry();
    }, onFault);
  }

  /** Each second: tries again what could not be recorded, makes room if nobody has published, reads what is due. */
  tick(): void {
    if (this.#parts.clock.monotonic() >= this.#youngUntil) {
      this.#youngUntil = Number.POSITIVE_INFINITY;
      // Not to have it written costs a little care after the next death.
      this.#parts.store.recovery.outlived().catch(() => {});
    }
    if (!this.#tookUp) void this.#takeUp().catch((error: unknown) => this.#in.failed(error));
    this.#out.retry();
    this.#in.manual.retry();
    this.#in.room.look();
    this.wake();
  }

  wake(): void {
    this.#in.waker.wake();
  }

  /** Each minute: finds deliveries that memory has lost, of which there must be none, and has them sent. */
  async sweep(): Promise<void> {
    // What is still to be taken up is not lost.
    if (!this.#tookUp) return;
    await this.#in.sweep.run().catch((error: unknown) => this.#in.failed(error));
  }

  /** How many deliveries sweeps found lost since the start: anything but 0 is a bug of ours. */
  get lost(): number {
    return this.#in.sweep.found;
  }

  // --- Deliveries ---

  readonly hasRoom = (endpoint: string): boolean => {
    if (this.#out.stopping || this.#in.suspects.onTrial) return false;
    return !this.#out.targets.isDamaged(endpoint) && this.#in.room.isFor(endpoint);
  };

  accept(handover: Handover): void {
    const { handing, sending, shift, targets, windows } = this.#out;
    this.#parts.watcher?.accepted(handover);
    shift.look();
    for (const waiting of handover.waiting) {
      // It was due at once: if that lies ahead now, the clock was set back while it was being committed.
      if (waiting.dueAt > this.#parts.clock.now()) shift.clamp([waiting.endpoint]);
      windows.noteWaiting(waiting);
    }
    for (const claim of handover.fresh) windows.hold(claim);
    if (handover.fresh.every(({ endpoint }) => targets.isOpen(endpoint))) sending.send(handover.fresh);
    else for (const claim of handover.fresh) handing.send(claim.endpoint, [claim]);
    if (handover.waiting.length > 0) this.wake();
    this.#in.room.look();
  }

  whenReleased(claim: Claim, run: () => void): () => void {
    return this.#out.releases.when(claim, run);
  }

  refresh(endpoint: string): Promise<void> {
    return this.#changes.refresh(endpoint);
  }

  drop(endpoint: string): Promise<void> {
    return this.#changes.drop(endpoint);
  }

  get inFlight(): number {
    return this.#out.sending.inFlight;
  }

  get paused(): boolean {
    return this.#out.pauses.has("operator");
  }

  get halts(): readonly Halt[] {
    return this.#out.halts;
  }

  pause(): Promise<void> {
    return this.#out.pauses.begin("operator", "the brake is on");
  }

  resume(): void {
    this.#out.pauses.end("operator");
  }

  oldestDueAt(now: number): number | null {
    return this.#out.windows.oldestDueAt(now, (endpoint) => this.#out.targets.isOpen(endpoint));
  }

  attempt(requested: EventDelivery): void {
    this.#in.manual.request(requested);
  }

  async withdraw(deliveries: readonly EventDelivery[]): Promise<void> {
    this.#in.suspects.withdraw(deliveries);
    this.#parts.watcher?.withdrawn(deliveries);
    await this.#out.withdrawal.withdraw(deliveries);
    this.wake();
  }

  // --- the end ---

  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void> {
    return this.#idleness.reached();
  }

  /** Starts no attempt from now on; resolves when those in flight have ended and are recorded. */
  async stop(): Promise<void> {
    const { recorder, releases, sending } = this.#out;
    this.#startNothing();
    await sending.drain();
    recorder.end();
    await this.idle();
    releases.end();
    await sending.close();
  }

  /** Ends what is in flight as `interrupted`; `stop` then resolves soon. */
  abort(): void {
    // Or what it ends would be taken for a shortage, and be made again once that is over.
    this.#startNothing();
    this.#out.sending.abort();
  }

  // --- internal ---

  /** The start was on a disk too full to take up what the last process left. */
  async #takeUp(): Promise<void> {
    if (!(await this.#parts.store.recovery.takeUp())) return;
    this.#tookUp = true;
    await this.#findOwed();
    this.wake();
  }

  async #findOwed(): Promise<void> {
    const { windows } = this.#out;
    for await (const page of endpointsOwed(this.#parts.store)) {
      for (const [endpoint, dueAt] of page) windows.noteWaiting({ endpoint, dueAt, event: "" });
    }
  }

  #startNothing(): void {
    this.#out.startNothing();
    this.#in.waker.stop();
  }

  #isIdle(): boolean {
    const { manual, suspects, waker } = this.#in;
    const { recorder, stopping, windows } = this.#out;
    if (waker.passing || recorder.busy) return false;
    const owing = suspects.onTrial || manual.busy || windows.held > 0 || windows.nextDueAt <= this.#parts.clock.now();
    return !owing || stopping;
  }
}
