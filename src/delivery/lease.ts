/**
 * What this process sends for is its own for as long as it renews that. Once it may be another's, nothing is started.
 * Where nodes share the store, endpoints come and go, and what other nodes have committed for them is asked for.
 */
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Log } from "../log.ts";
import type { OwnedSlots, Ownership, Store } from "../store/store.ts";
import { endpointDropped, endpointLeft } from "./core/changed.ts";
import { arrived } from "./core/way.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Executor } from "./executor.ts";
import { findOwed } from "./horizon-sweep.ts";

/** What was handed to a sender begins a little later: sending stops so long before the lease ends. */
const MARGIN_MS = 1000;
/** Between two looks for what other nodes have committed. */
const NEWS_MS = 50;
/** The brake is looked for at each tenth of them. */
const BRAKE_EVERY = 10;
const LEAVE_MS = 1000;
/** For how long the end of a stop waits for the store. */
const END_MS = 2000;
/** Whoever has it does what one node is to do for all. */
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
  /** By the monotonic clock: when what is owned may be another's, and when sending had to stop because of that. */
  #endsAt = Number.POSITIVE_INFINITY;
  #lapsedAt: number | null = null;
  /** Whose deliveries were looked for; null while nothing is shared. */
  #found: OwnedSlots["owned"] | null = null;
  /** Those of which it knows. */
  #owned: OwnedSlots["owned"] = new Set();
  /** Whose deliveries are being looked for. */
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

  /** Whether this process does what one is to do for all: it removes what is old, and runs jobs. */
  get isFirst(): boolean {
    return this.#found === null || this.#found.has(FIRST_SLOT);
  }

  /** Whether what all that is owned owes was looked for. */
  get hasFoundAll(): boolean {
    return this.#found === null || this.#found.size === this.#owned.size;
  }

  /** Each second. Rejects while the store cannot be reached. */
  renew(): Promise<void> {
    return (this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    }));
  }

  /** From now on what other nodes commit is heard of. */
  listen(): void {
    this.#listens = true;
    if (this.#found !== null) this.#listenLater(0);
  }

  /**
   * Nothing is started any more. Others get each endpoint as soon as nothing of it is on the wire: that is recorded here.
   */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#cancelLapse();
    this.#cancelAgain();
    this.#cancelNews();
    if (!this.#isForGood) this.#leaveMore();
  }

  /** Resolves once nothing is being handed over any more, or the store does not answer. */
  end(): Promise<void> {
    this.#ended = true;
    this.#cancelLeaving();
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(END_MS, resolve);
      void this.#rest().then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Without its row, a renewal would find that it has lost everything. */
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
    // An answer may come when the lease that it tells of has run out.
    const left = begun + holdsForMs - MARGIN_MS - clock.monotonic();
    this.#endsAt = begun + holdsForMs;
    this.#lapsedAt = null;
    const lapse = () => {
      this.#lapsedAt = clock.monotonic();
      halts.begin("lease", "the lease on the database could not be renewed in time", clock.now());
      void sending.pause();
    };
    if (left <= 0) lapse();
    else if (halts.end("lease")) sending.resume();
    this.#isForGood = holdsForMs === Number.POSITIVE_INFINITY;
    if (this.#isForGood) return;
    if (left > 0) this.#cancelLapse = clock.after(left, lapse);
    if (endpoints === "everything") return;
    this.#cancelAgain();
    if (endpoints.againInMs !== null) {
      // What fails is done at the next second.
      this.#cancelAgain = clock.after(endpoints.againInMs, () => void this.renew().catch(() => {}));
    }
    this.#beginToShare(endpoints);
  }

  /**
   * Others have what was owned. A process that stopped sending in time begins anew; one that was suspended may have started
   * what they were sending, and ends. What is on the wire still ends, and counts unless they were faster.
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

  /** The lease waits for nothing of it. What fails is done at the next renewal. */
  #beginToShare(endpoints: OwnedSlots): void {
    // What goes and comes back was another's meanwhile, perhaps; and its due times are forgotten.
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
      await findOwed(this.#parts, executor.memory);
      // At a start nobody knows yet whether the brake is on.
      if (this.#listens) executor.wake();
      this.#found = new Set([...this.#found!, ...this.#finding]);
    }
    if (leaving.size === 0) return;
    const busy = await this.#leave();
    // At the end of a stop all is given up at once.
    if (!this.#ended) await store.ownership.give(busy);
  }

  /** Each second of a stop: whoever took over what is still on the wire would send it again. */
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

  /** Gives back to the disk what goes to other nodes; the endpoints of which something is left that was started. */
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
      void this.#hear(turn)
        .catch((error: unknown) => executor.failed(error))
        .finally(() => this.#listenLater((turn + 1) % BRAKE_EVERY));
    });
  }

  async #hear(turn: number): Promise<void> {
    const { deliveries, executor, store } = this.#parts;
    const { waiting, requested, withdrawn, changed } = await store.ownership.news();
    if (this.#stopped) return;
    if (waiting.length > 0) executor.do(arrived(executor.memory, waiting));
    for (const owed of requested) deliveries.attempt(owed);
    if (withdrawn.length > 0) await deliveries.withdraw(withdrawn, true);
    for (const endpoint of changed) await deliveries.refresh(endpoint, true);
    await store.ownership.tookIn();
    if (turn === 0) await this.#lookAtBrake();
  }

  async #lookAtBrake(): Promise<void> {
    const { deliveries, store } = this.#parts;
    const wasOn = deliveries.paused;
    const isOn = (await store.operations.getPause()) !== null;
    // Whoever was asked here meanwhile knows better: the answer may be from before that.
    if (deliveries.paused !== wasOn || isOn === wasOn) return;
    if (isOn) await deliveries.pause();
    else deliveries.resume();
  }
}
