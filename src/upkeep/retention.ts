/**
 * Prunes rows that are older than `[retention]` allows. The schedule makes a pass for each kind of row. The next pass
 * completes one that was interrupted by a full disk or a stop.
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Pruned, Store } from "../store/store.ts";

export interface Pace {
  readonly clock: Clock;
  /** Aborted when the daemon stops. */
  readonly signal: AbortSignal;
}

/** Milliseconds; 0 keeps for ever. */
export interface RetentionRules {
  readonly delivered: number;
  readonly failed: number;
  readonly held: number;
  readonly responseBodies: number;
  readonly audit: number;
  readonly statistics: number;
}

export interface RetentionParts extends Pace {
  readonly store: Pick<Store, "upkeep" | "audit" | "endpoints" | "idempotency" | "statistics" | "jobs" | "keys">;
  readonly log: Log;
  /** Read at the beginning of each pass. */
  readonly rules: () => RetentionRules;
}

/** Milliseconds of rest for each millisecond of work, so that most commits of events do not wait for this work. */
const REST = 8;
const MIN_REST_MS = 1;
/** After a step that took long because of a stall, a longer rest would let the work fall behind. */
const MAX_REST_MS = 250;
/** The number of rows in a full step of those store calls that return a count. */
const STEP_ROWS = 500;
/** Keys of links are kept for this long, in case a customer says that a link did not work. */
const PORTAL_KEPT_MS = 3_600_000;
/** Events that had to stay are not read again before this, because for a million failures that is a gigabyte. */
const FULL_WALK_MS = 86_400_000;

export class Retention {
  readonly #parts: RetentionParts;
  /** The place where the next pass over events continues. */
  #from: string | null = null;
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** Continues where the last pass ended. Once a day, begins at the oldest event. */
  async pruneEvents(): Promise<void> {
    const { store, clock, log, rules } = this.#parts;
    const { delivered, failed } = rules();
    const before = { delivered: this.#before(delivered), failed: this.#before(failed) };
    if (clock.monotonic() >= this.#fullAt + FULL_WALK_MS) {
      this.#fullAt = clock.monotonic();
      this.#from = null;
    }
    let events = 0;
    await inSteps(this.#parts, async () => {
      const { pruned, next } = await store.upkeep.pruneEvents(before, this.#from);
      events += pruned;
      this.#from = next ?? this.#from;
      return next !== null;
    });
    if (events > 0) log.info({ events }, "old events were removed");
  }

  async forgetIdempotencyKeys(): Promise<void> {
    const { store, clock } = this.#parts;
    await inSteps(this.#parts, async () => (await store.idempotency.prune(clock.now())) > 0);
  }

  async expireHeld(): Promise<void> {
    const { store, clock, log, rules } = this.#parts;
    const before = this.#before(rules().held);
    const deliveries = await this.#count(() => store.upkeep.expireHeld(before, clock.now()));
    if (deliveries > 0) log.warn({ deliveries }, "held deliveries failed, because their endpoints stayed disabled");
  }

  async forgetResponses(): Promise<void> {
    const before = this.#before(this.#parts.rules().responseBodies);
    await this.#count(() => this.#parts.store.upkeep.forgetResponses(before));
  }

  async pruneAudit(): Promise<void> {
    const before = this.#before(this.#parts.rules().audit);
    await this.#count(() => this.#parts.store.audit.prune(before));
  }

  /** Ended jobs are kept as long as failures, because most of them were about failures. */
  async pruneJobs(): Promise<void> {
    const before = this.#before(this.#parts.rules().failed);
    await this.#walk((from) => this.#parts.store.jobs.prune(before, from));
  }

  /** Keys that are no longer valid are kept as long as entries in the audit log may name them. */
  async pruneKeys(): Promise<void> {
    const before = this.#before(this.#parts.rules().audit);
    await this.#walk((from) => this.#parts.store.keys.prune(before, from));
  }

  /** Keys of portal links are numerous, so they are pruned soon. The audit log says who requested each. */
  async prunePortalKeys(): Promise<void> {
    const { clock, store } = this.#parts;
    await this.#count(() => store.keys.prunePortal(clock.now() - PORTAL_KEPT_MS));
  }

  /** Deleted endpoints are removed after the last of their deliveries, and after the counters that name them. */
  async pruneEndpoints(): Promise<void> {
    const before = this.#before(this.#parts.rules().statistics);
    await this.#walk((from) => this.#parts.store.endpoints.prune(before, from));
  }

  /** Frees the held keys of endpoints that no longer hold any. */
  async freeKeys(): Promise<void> {
    const { clock, store } = this.#parts;
    await this.#count(() => store.upkeep.freeKeys(clock.now()));
  }

  /** An ordering key is kept as long as an event that has it. */
  async pruneOrderingKeys(): Promise<void> {
    await this.#walk((from) => this.#parts.store.upkeep.pruneKeys(from));
  }

  /** An earlier choice of an endpoint is kept as long as the events that it decided. */
  async pruneChoices(): Promise<void> {
    await this.#count(() => this.#parts.store.upkeep.pruneChoices());
  }

  async pruneCounters(): Promise<void> {
    const before = this.#before(this.#parts.rules().statistics);
    await this.#count(() => this.#parts.store.statistics.prune(before));
  }

  /** Removed rows leave free space in the file. When there is much of it, most is returned to the disk. */
  async giveBack(): Promise<void> {
    const { log, store } = this.#parts;
    let bytes = 0;
    await inSteps(this.#parts, async () => {
      const given = await store.upkeep.giveBack();
      bytes += given;
      return given > 0;
    });
    if (bytes > 0) log.info({ bytes }, "free space was given back to the disk");
  }

  async #walk(step: (from: string | null) => Promise<Pruned>): Promise<void> {
    let from: string | null = null;
    await inSteps(this.#parts, async () => {
      ({ next: from } = await step(from));
      return from !== null;
    });
  }

  async #count(step: () => Promise<number>): Promise<number> {
    let sum = 0;
    await inSteps(this.#parts, async () => {
      const rows = await step();
      sum += rows;
      return rows >= STEP_ROWS;
    });
    return sum;
  }

  #before(period: number): number {
    return period === 0 ? Number.NEGATIVE_INFINITY : this.#parts.clock.now() - period;
  }
}

/** Runs `step` until it resolves to false, with a rest after each. */
export async function inSteps({ clock, signal }: Pace, step: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) {
    const begun = clock.monotonic();
    if (!(await step())) return;
    const rest = Math.min(MAX_REST_MS, Math.max(MIN_REST_MS, (clock.monotonic() - begun) * REST));
    await new Promise<void>((resolve) => void clock.after(rest, resolve));
  }
}
