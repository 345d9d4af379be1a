/**
 * Keeps this process's right to send, by renewing its lease on the store. When the lease may have run out, nothing is
 * started. If several nodes share a store, this also takes and gives up endpoints, and polls for what other nodes have
 * committed for them.
 */
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Log } from "../log.ts";
import type { OwnedSlots, Ownership, Store } from "../store/store.ts";
import { endpointDropped, endpointLeft } from "./core/changed.ts";
import { arrived } from "./core/lifecycle.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Executor } from "./executor.ts";
import { findPending } from "./horizon-sweep.ts";
import { unawaited } from "../domain/unawaited.ts";

/** Sending stops this long before the lease ends, because an attempt starts a little after it is handed to a sender. */
const MARGIN_MS = 1000;
/** The interval between polls for commits of other nodes. */
const NEWS_MS = 50;
/** Every so many polls, also check whether all sending is paused. */
const BRAKE_EVERY = 10;
const LEAVE_MS = 1000;
/** The longest time that the end of a stop waits for the store. */
const END_MS = 2000;
/** The node that owns this slot does the work that only one node should do for all. */
const FIRST_SLOT = 0;

export interface LeaseParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly executor: Executor;
  readonly deliveries: Pick<
    Deliveries,
    "attempt" | "halts" | "inFlight" | "oldestDueAt" | "pause" | "paused" | "refresh" | "resume" | "withdraw"
  >;
}

export class Lease {
  readonly #parts: LeaseParts;
  #isForGood = false;
  /** Monotonic milliseconds: when the lease ends, and when sending stopped because it could not be renewed. */
  #endsAt = Number.POSITIVE_INFINITY;
  #lapsedAt: number | null = null;
  /** The slots whose deliveries have been looked up. Null unless nodes share the store. */
  #found: OwnedSlots["owned"] | null = null;
  /** The slots that this process owns, as of the last renewal. */
  #owned: OwnedSlots["owned"] = new Set();
  /** The slots whose deliveries are being looked up. */
  #finding: OwnedSlots["owned"] = new Set();
  #renewing: Promise<void> | null = null;
  #sharing: Promise<void> | null = null;
  #leaving: Promise<void> = Promise.resolve();
  #listens = false;
  #stopped = false;
  #ended = false;
  #cancelLapse: () => void = () => {};
  #cancelAgain: () => void = () => {};
  #cancelNews: () => void = () => {};
  #cancelLeaving: () => void = () => {};

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    const { owns } = parts.store.ownership;
    if (owns !== null) parts.executor.memory.elsewhere = (endpoint) => !owns(endpoint);
  }

  /** True if this process does the work that one node does for all: it removes old data and runs jobs. */
  get isFirst(): boolean {
    return this.#found === null || this.#found.has(FIRST_SLOT);
  }

  /** True if the deliveries of all owned slots have been looked up. */
  get hasFoundAll(): boolean {
    return this.#found === null || this.#found.size === this.#owned.size;
  }

  /** Called every second. Rejects while the store cannot be reached. */
  renew(): Promise<void> {
    return (this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    }));
  }

  /** Starts to poll for what other nodes commit. */
  listen(): void {
    this.#listens = true;
    if (this.#found !== null) this.#listenLater(0);
  }

  /**
   * Starts nothing more. Other nodes get each endpoint as soon as none of its attempts is on the wire. Such attempts
   * are still recorded here.
   */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#cancelLapse();
    this.#cancelAgain();
    this.#cancelNews();
    if (!this.#isForGood) this.#leaveMore();
  }

  /** Resolves once nothing is being handed to other nodes any more, or if the store does not answer. */
  end(): Promise<void> {
    this.#ended = true;
    this.#cancelLeaving();
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(END_MS, resolve);
      unawaited(
        this.#rest().then(() => {
          cancel();
          resolve();
        }),
      );
    });
  }

  /** Waits for the renewal too: if the node's row were gone, a renewal would find that it has lost everything. */
  async #rest(): Promise<void> {
    await this.#renewing?.catch(() => {});
    await this.#leaving;
    await this.#sharing;
  }

  async #renew(): Promise<void> {
    if (this.#isForGood || this.#stopped) return;
    const { clock, deliveries, executor, store } = this.#parts;
    const { memory, sending } = executor;
    const { halts } = memory;
    const begun = clock.monotonic();
    const report = {
      oldestDueAt: deliveries.oldestDueAt(clock.now()),
      inFlight: deliveries.inFlight,
      halts: deliveries.halts.map(({ reason }) => reason),
    };
    const { endpoints, holdsForMs } = await store.ownership
      .renew(report)
      .catch((error: unknown) => (store.ownership.comeback?.isDue === true ? this.#comeBack() : Promise.reject(error)));
    if (this.#stopped) return;
    this.#cancelLapse();
    // When the answer arrives, the lease that it grants may have run out already.
    const left = begun + holdsForMs - MARGIN_MS - clock.monotonic();
    const lapse = () => {
      this.#lapsedAt ??= clock.monotonic();
      halts.begin("lease", "the lease on the database could not be renewed in time", clock.now());
      unawaited(sending.pause());
    };
    // Until then, the time at which the last lease stopped sending still holds.
    if (left > 0) [this.#endsAt, this.#lapsedAt] = [begun + holdsForMs, null];
    if (left <= 0) lapse();
    else if (halts.end("lease")) sending.resume();
    this.#isForGood = holdsForMs === Number.POSITIVE_INFINITY;
    if (this.#isForGood) return;
    if (left > 0) this.#cancelLapse = clock.after(left, lapse);
    if (endpoints === "everything") return;
    this.#cancelAgain();
    if (endpoints.againInMs !== null) {
      // If this fails, the next renewal, a second later, does it.
      this.#cancelAgain = clock.after(endpoints.againInMs, () => unawaited(this.renew().catch(() => {})));
    }
    this.#beginToShare(endpoints);
  }

  /**
   * Other nodes have taken over what this one owned. If sending stopped in time, it joins them again. If the process
   * was suspended, it may have started what they were sending, so it gives up and ends. Attempts on the wire still end,
   * and count unless the others were faster.
   */
  async #comeBack(): Promise<Ownership> {
    const { clock, executor, store } = this.#parts;
    const { memory, sending } = executor;
    const comeback = store.ownership.comeback!;
    if (this.#lapsedAt !== null && this.#lapsedAt > this.#endsAt) {
      comeback.giveUp();
      throw new WebhookdError("storage_unavailable", "this node was suspended, and others have its endpoints");
    }
    memory.halts.begin(
      "lease",
      "other nodes have taken over this node's endpoints, and it joins them again",
      clock.now(),
    );
    await sending.pause();
    [this.#found, this.#owned, this.#finding] = [new Set(), new Set(), new Set()];
    const known = Array.from(memory.windows.endpoints());
    for (const endpoint of known) {
      executor.do(endpointDropped(memory, endpoint, await sending.forget(endpoint)));
    }
    const ownership = await comeback.rejoin();
    this.#parts.log.warn(
      {},
      "others had taken over this node's endpoints while it was cut off: it has joined them again",
    );
    return ownership;
  }

  /** Runs without holding up the lease. If it fails, the next renewal tries again. */
  #beginToShare(endpoints: OwnedSlots): void {
    // A slot that left and came back may have belonged to another node in between, and its due times were forgotten.
    this.#owned = endpoints.owned;
    const stays = (slot: number) => endpoints.owned.has(slot);
    this.#found = new Set([...(this.#found ?? [])].filter(stays));
    this.#finding = new Set([...this.#finding].filter(stays));
    if (this.#sharing !== null) return;
    this.#sharing = this.#share(endpoints)
      .catch((error: unknown) => this.#parts.executor.failed(error))
      .finally(() => (this.#sharing = null));
  }

  async #share({ owned, leaving }: OwnedSlots): Promise<void> {
    const { executor, store } = this.#parts;
    const found = this.#found!;
    this.#finding = new Set([...owned].filter((slot) => !found.has(slot)));
    if (this.#finding.size > 0) {
      await findPending(this.#parts, executor.memory);
      // Before `listen`, at a start, it is not known yet whether all sending is paused.
      if (this.#listens) executor.wake();
      this.#found = new Set([...this.#found!, ...this.#finding]);
    }
    if (leaving.size === 0) return;
    const busy = await this.#leave();
    // At the end of a stop, give up everything at once.
    if (!this.#ended) await store.ownership.give(busy);
  }

  /**
   * Repeats every second of a stop. An attempt that is still on the wire keeps its endpoint here, because the next
   * owner would send it again.
   */
  #leaveMore(): void {
    const { clock, store } = this.#parts;
    const leave = async () => {
      const { endpoints } = await store.ownership.leave();
      if (endpoints !== "everything") this.#beginToShare(endpoints);
    };
    const all = [this.#leaving, leave().catch(() => {})];
    this.#leaving = Promise.all(all).then(() => {});
    if (!this.#ended) this.#cancelLeaving = clock.after(LEAVE_MS, () => this.#leaveMore());
  }

  /** Returns endpoints that go to other nodes to the disk. Resolves to those that still have started attempts. */
  async #leave(): Promise<ReadonlySet<string>> {
    const { executor } = this.#parts;
    const { elsewhere, endpoints, windows } = executor.memory;
    const busy = new Set<string>();
    for (const endpoint of windows.endpoints()) {
      if (this.#ended) break;
      if (elsewhere?.(endpoint) !== true) continue;
      const window = windows.of(endpoint);
      const isKnown = endpoints.get(endpoint) !== undefined || window.nextDueAt < Number.POSITIVE_INFINITY;
      if (isKnown || window.loaded.size > 0) {
        executor.do(endpointLeft(executor.memory, endpoint));
        await executor.sift(endpoint);
      }
      if (window.loaded.size > 0) busy.add(endpoint);
    }
    return busy;
  }

  #listenLater(turn: number): void {
    if (this.#stopped) return;
    const { clock, executor } = this.#parts;
    this.#cancelNews = clock.after(NEWS_MS, () => {
      unawaited(
        this.#takeRemoteChanges(turn)
          .catch((error: unknown) => executor.failed(error))
          .finally(() => this.#listenLater((turn + 1) % BRAKE_EVERY)),
      );
    });
  }

  async #takeRemoteChanges(turn: number): Promise<void> {
    const { deliveries, executor, store } = this.#parts;
    const { waiting, requested, withdrawn, changed } = await store.ownership.remoteChanges();
    if (this.#stopped) return;
    if (waiting.length > 0) executor.do(arrived(executor.memory, waiting));
    for (const wanted of requested) deliveries.attempt(wanted);
    if (withdrawn.length > 0) await deliveries.withdraw(withdrawn, true);
    for (const endpoint of changed) await deliveries.refresh(endpoint, true);
    await store.ownership.acknowledgeChanges();
    if (turn === 0) await this.#lookAtBrake();
  }

  async #lookAtBrake(): Promise<void> {
    const { deliveries, store } = this.#parts;
    const wasOn = deliveries.paused;
    const isOn = (await store.operations.getPause()) !== null;
    // If `paused` changed during the query, an operator's request arrived here, which is newer than the answer.
    if (deliveries.paused !== wasOn || isOn === wasOn) return;
    if (isOn) await deliveries.pause();
    else deliveries.resume();
  }
}
