/** What is asked of the counters: `store/contract/statistics.ts`. */
import type { Clock } from "../../../clock.ts";
import type { EventDraft } from "../../../domain/event.ts";
import type { EndedAttempt, Publication, Recorded } from "../../store.ts";
import type { Counted, Stats, StatsQuery } from "../../store.ts";
import { Counters, Counts, EVERYTHING, MINUTE_MS, type Subject } from "./counters.ts";
import { CHUNK_SIZE, type Doors } from "../engine/doors.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Interned } from "../numbers/interned.ts";
import { CHUNK } from "../endpoints/sweep.ts";

interface Parts extends Doors {
  readonly counters: Counters;
  readonly endpoints: Endpoints;
  readonly index: EndpointIndex;
  readonly tenants: Interned;
  readonly clock: Clock;
}

export class Statistics {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get counted(): Counted {
    return this.#parts.counters.sinceStart;
  }

  async stats(query: StatsQuery): Promise<Stats | null> {
    const { read } = this.#parts;
    const subject = read(() => this.#subjectOf(query));
    return subject === null ? null : this.#read(subject, query);
  }

  async saveCounters(): Promise<void> {
    const { commit, counters, clock } = this.#parts;
    // Each transaction begins with it.
    if (counters.isDue(clock.now())) await commit.run(() => undefined, { events: 0, deliveries: 0, patient: true });
  }

  async pruneCounters(before: number): Promise<number> {
    const { commit, counters } = this.#parts;
    return commit.run(() => counters.prune(before), CHUNK_SIZE);
  }

  // --- after the commit of what they count ---

  noteAttempts(attempts: readonly EndedAttempt[], recorded: readonly Recorded[]): void {
    const { counters, index, clock } = this.#parts;
    const now = clock.now();
    attempts.forEach((attempt, at) => {
      const endpoint = index.byId(attempt.claim.endpoint);
      if (endpoint === undefined || attempt.claim.trigger === "test") return;
      counters.attempt(attempt, recorded[at]!, [endpoint.number, -endpoint.tenant, EVERYTHING], now);
    });
  }

  /** Held for too long: deliveries that failed, by the numbers of their endpoints. */
  noteExpired(endpoints: readonly number[]): void {
    const { counters, index, clock } = this.#parts;
    const now = clock.now();
    for (const number of endpoints) {
      counters.failedUnsent("held_expired", [number, -index.byNumber(number).tenant, EVERYTHING], now);
    }
  }

  notePublished(drafts: readonly EventDraft[], publications: readonly Publication[]): void {
    const { counters, tenants, clock } = this.#parts;
    const now = clock.now();
    // A batch is mostly of one tenant and type: it is counted in one go.
    for (let at = 0; at < drafts.length;) {
      const { tenant, type } = drafts[at]!;
      let events = 0;
      for (; at < drafts.length && drafts[at]!.tenant === tenant && drafts[at]!.type === type; at++) {
        if (drafts[at]!.testFor === undefined && !publications[at]!.duplicate) events++;
      }
      if (events > 0) counters.published(type, events, [-tenants.find(tenant)!, EVERYTHING], now);
    }
  }

  // --- internal ---

  #subjectOf({ tenant, endpoint }: StatsQuery): Subject | null {
    const { endpoints, tenants } = this.#parts;
    if (endpoint !== undefined) return endpoints.numberOf(tenant, endpoint);
    // A tenant that nobody has named yet has no number, and no row has NaN for its subject.
    return tenant === null ? EVERYTHING : -(tenants.find(tenant) ?? Number.NaN);
  }

  /** Some minutes a turn of the event loop. */
  async #read(subject: Subject, { since, until, stepMs }: StatsQuery): Promise<Stats> {
    const { counters, defer, read } = this.#parts;
    const total = new Counts();
    const series = Array.from({ length: Math.ceil((until - since) / stepMs) }, () => new Counts());
    const [first, end] = [Math.floor(since / MINUTE_MS), Math.ceil(until / MINUTE_MS)];
    for (let from = first; from < end; from += CHUNK) {
      if (from > first) await new Promise<void>((resolve) => defer(resolve));
      const to = Math.min(end, from + CHUNK);
      read(() =>
        counters.read(subject, from, to, (minute, counts) => {
          total.add(counts);
          series[Math.floor((minute * MINUTE_MS - since) / stepMs)]!.add(counts);
        }),
      );
    }
    return { attempts: total.attempts, published: total.published, series };
  }
}
