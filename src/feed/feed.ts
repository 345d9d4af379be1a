/**
 * The stream of changes to deliveries, for clients that watch. It gathers changes for a quarter of a second and hands
 * out a batch: at most a hundred single changes, and counts of the others. Batches stay for a while in a bounded ring,
 * for a client that reconnects. If nobody has listened for a minute, each change costs only a check of a flag.
 *
 * If several nodes share the store, the feed passes each batch to all of them, and numbers it.
 */
import type { Clock } from "../clock.ts";
import { BatchRing, FoldedChanges, type Change, type ChangeCount, type Numbered } from "../domain/events/change.ts";
import { isUsable } from "../domain/caller.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { DeliveryWatcher } from "../delivery/deliveries.ts";
import type {
  EndedAttempt,
  EndpointStore,
  Handover,
  KeyStore,
  OwnershipStore,
  Recorded,
  SharedStream,
  StreamBatch,
  WithdrawnDelivery,
} from "../store/store.ts";
import { unawaited } from "../domain/unawaited.ts";

export interface FeedParts {
  readonly clock: Clock;
  readonly store: {
    readonly endpoints: Pick<EndpointStore, "tenantOf">;
    readonly keys: Pick<KeyStore, "get">;
    readonly ownership: Pick<OwnershipStore, "stream">;
  };
  /** The maximum number of changes and counts in the ring. */
  readonly capacity?: number;
}

export interface Batch extends Numbered {
  readonly changes: readonly Owned<Change>[];
  readonly counts: readonly Owned<ChangeCount>[];
  /** Set if changes before this batch were missed. */
  readonly hasGap?: true;
}

/** Names the tenant. Null if the endpoint's tenant is no longer known. */
export interface Owned<T> {
  readonly tenant: string | null;
  readonly what: T;
}

export interface Listener {
  /** Null if the client needs no key. */
  readonly keyId: string | null;
  take(batch: Batch): void;
  /** Called when no more batches follow, because the daemon is stopping or the key was revoked. */
  end(): void;
}

export interface Subscription {
  /** The number of the last batch before the subscription. */
  readonly number: number;
  /** The batches since the client's last one. Null if the ring no longer has them. */
  readonly missed: readonly Batch[] | null;
  stop(): void;
}

const GATHER_MS = 250;
/** The streams of an expired key must end within a second, so check twice as often. */
const KEYS_MS = 500;
const LINGER_MS = 60_000;
const ONE_BY_ONE = 100;
const CAPACITY = 10_000;
const REMEMBERED_TENANTS = 10_000;

export class Feed implements DeliveryWatcher {
  readonly #parts: FeedParts;
  readonly #ring: BatchRing<Batch>;
  readonly #listeners = new Set<Listener>();
  readonly #tenants = new Map<string, string | null>();
  readonly #life: string;
  readonly #shared: SharedStream | null;
  /** Resolves once the batches of all nodes arrive here. Null while they do not. */
  #following: Promise<void> | null = null;
  /** True if a batch of this node did not reach the others. */
  #isCutOff = false;
  #listening = false;
  #number = 0;
  #gathered = new FoldedChanges(ONE_BY_ONE);
  #armed = false;
  #forget: (() => void) | null = null;
  #cancelKeys: (() => void) | null = null;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    this.#ring = new BatchRing(parts.capacity ?? CAPACITY);
    this.#life = Math.floor(parts.clock.now()).toString(36);
    this.#shared = parts.store.ownership.stream;
  }

  /**
   * Distinguishes the batch numbers of this process from those of an earlier one. Nodes that share a store have the
   * same value.
   */
  get life(): string {
    return this.#shared?.life ?? this.#life;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Must be awaited before `subscribe`. From then on, the changes on all nodes arrive here. */
  async open(): Promise<void> {
    this.#forget?.();
    this.#forget = null;
    if (this.#shared === null) return;
    this.#following ??= this.#shared.follow((batch) => this.#take(batch));
    await this.#following.catch((error: unknown) => {
      this.#following = null;
      throw error;
    });
  }

  /** `last` is the number of the last batch that the client saw. Null for a new client. */
  subscribe(listener: Listener, last: number | null): Subscription {
    this.#listening = true;
    this.#forget?.();
    this.#forget = null;
    this.#listeners.add(listener);
    this.#watchKeys();
    const missed = last === null ? [] : last > this.#number ? null : this.#ring.after(last);
    return { number: this.#number, missed, stop: () => this.#drop(listener) };
  }

  /** Ends the streams of a revoked key. */
  revoked(keyId: string): void {
    for (const listener of this.#listeners) if (listener.keyId === keyId) this.#end(listener);
  }

  /** Ends all streams and timers, because the daemon is stopping. */
  end(): void {
    for (const listener of this.#listeners) this.#end(listener);
    this.#forget?.();
    this.#cancelKeys?.();
    this.#rest();
  }

  attempted({ claim, outcome, verdict }: EndedAttempt, { result, waiting }: Recorded): void {
    if (!this.#hasListeners || claim.trigger === "test") return;
    const moved = verdict.status !== "unchanged" && (result === "applied" || verdict.status === "delivered");
    this.#add({
      kind: "attempt",
      at: this.#parts.clock.now(),
      endpoint: claim.endpoint,
      event: claim.event,
      delivery: claim.delivery,
      status: moved ? verdict.status : null,
      attempt: {
        number: claim.number,
        outcome: outcome.outcome,
        error: outcome.error,
        statusCode: outcome.statusCode,
        durationMs: Math.round(outcome.durationMs),
        nextAttemptAt: waiting?.dueAt ?? null,
      },
    });
  }

  accepted({ fresh, waiting }: Handover): void {
    if (!this.#hasListeners) return;
    for (const { trigger, endpoint, event, delivery } of fresh) {
      if (trigger !== "test") this.#addDelivery(endpoint, event, delivery, "pending");
    }
    for (const one of waiting) if (!one.isQuiet) this.#addDelivery(one.endpoint, one.event, null, "pending");
  }

  withdrawn(deliveries: readonly WithdrawnDelivery[]): void {
    const shown = this.#hasListeners ? deliveries.filter(({ isQuiet }) => !isQuiet) : [];
    for (const { endpoint, delivery } of shown) this.#addDelivery(endpoint, null, delivery, "cancelled");
  }

  changed(endpoint: string): void {
    if (!this.#hasListeners) return;
    const none = { event: null, delivery: null, status: null, attempt: null };
    this.#add({ kind: "endpoint", at: this.#parts.clock.now(), endpoint, ...none });
  }

  get #hasListeners(): boolean {
    return this.#shared === null ? this.#listening : this.#shared.isWanted;
  }

  #addDelivery(endpoint: string, event: string | null, delivery: string | null, status: "pending" | "cancelled"): void {
    this.#add({ kind: "delivery", at: this.#parts.clock.now(), endpoint, event, delivery, status, attempt: null });
  }

  #add(change: Change): void {
    this.#gathered.add(change);
    this.#arm();
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#parts.clock.after(GATHER_MS, () => unawaited(this.#flush()));
  }

  async #flush(): Promise<void> {
    const gathered = this.#gathered;
    this.#gathered = new FoldedChanges(ONE_BY_ONE);
    const { changes, counts } = gathered;
    const endpoints = new Set([...changes, ...counts].map(({ endpoint }) => endpoint));
    const tenants = new Map<string, string | null>();
    for (const endpoint of endpoints) tenants.set(endpoint, await this.#tenantOf(endpoint));
    // This comes after the awaits, so that batches leave in the order in which they were gathered.
    this.#armed = false;
    if (!this.#gathered.isEmpty) this.#arm();
    if (!this.#hasListeners || gathered.isEmpty) return;
    const own = <T extends Change | ChangeCount>(what: T) => ({ tenant: tenants.get(what.endpoint) ?? null, what });
    const batch = { changes: changes.map(own), counts: counts.map(own) };
    if (this.#shared === null) this.#hand({ ...batch, number: this.#number + 1, size: changes.length + counts.length });
    else await this.#tell(this.#shared, JSON.stringify(batch));
  }

  async #tell(shared: SharedStream, text: string): Promise<void> {
    try {
      if (this.#isCutOff) await shared.tell(null);
      this.#isCutOff = false;
      await shared.tell(text);
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      this.#isCutOff = true;
    }
  }

  /** Takes a batch of any node. Null text means that a batch was lost. */
  #take({ number, text }: StreamBatch): void {
    if (text === null) {
      this.#ring.clear(number);
      this.#hand({ number, size: 0, changes: [], counts: [], hasGap: true });
      return;
    }
    const { changes, counts } = JSON.parse(text) as Pick<Batch, "changes" | "counts">;
    this.#hand({ number, size: changes.length + counts.length, changes, counts });
  }

  #hand(batch: Batch): void {
    this.#number = batch.number;
    this.#ring.push(batch);
    for (const listener of this.#listeners) listener.take(batch);
  }

  /**
   * An endpoint never changes its tenant, so the answer is kept. If the store cannot answer now, a later call asks
   * again.
   */
  async #tenantOf(endpoint: string): Promise<string | null> {
    const known = this.#tenants.get(endpoint);
    if (known !== undefined) return known;
    const tenant = await this.#parts.store.endpoints.tenantOf(endpoint).catch(() => undefined);
    if (tenant === undefined) return null;
    if (this.#tenants.size >= REMEMBERED_TENANTS) this.#tenants.clear();
    this.#tenants.set(endpoint, tenant);
    return tenant;
  }

  /** Runs one timer for all streams while any of them has a key. */
  #watchKeys(): void {
    if (this.#cancelKeys !== null || this.#keys().size === 0) return;
    this.#cancelKeys = this.#parts.clock.after(KEYS_MS, () => unawaited(this.#endUnusable()));
  }

  /** Ends the streams of keys that have expired or were revoked. If the store cannot answer, they stay open. */
  async #endUnusable(): Promise<void> {
    const { store, clock } = this.#parts;
    for (const id of this.#keys()) {
      const key = await store.keys.get(id).catch(() => undefined);
      if (key === null || (key !== undefined && !isUsable(key, clock.now()))) this.revoked(id);
    }
    this.#cancelKeys = null;
    this.#watchKeys();
  }

  #keys(): Set<string> {
    return new Set([...this.#listeners].flatMap(({ keyId }) => keyId ?? []));
  }

  #end(listener: Listener): void {
    this.#drop(listener);
    listener.end();
  }

  #drop(listener: Listener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    this.#forget = this.#parts.clock.after(LINGER_MS, () => this.#rest());
  }

  #rest(): void {
    this.#listening = false;
    if (this.#shared !== null) {
      if (this.#following !== null) this.#shared.rest();
      this.#following = null;
      return;
    }
    this.#gathered = new FoldedChanges(ONE_BY_ONE);
    // A client that reconnects later must see that there is a gap.
    this.#ring.clear(++this.#number);
  }
}
