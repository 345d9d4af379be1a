/** What was counted, what there is, and what does not arrive. */
import type { EventDraft } from "../../../domain/events/event.ts";
import type {
  CensusStep,
  EndedAttempt,
  FailingEndpoint,
  FailureQuery,
  FailureReport,
  Publication,
  Recorded,
  SinceStart,
  StatisticsStore,
  Stats,
  StatsQuery,
} from "../../store.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Health } from "../endpoints/health.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK, CHUNK_SIZE } from "../engine/group-commit.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Interned } from "../numbers/interned.ts";
import { Census } from "./census.ts";
import { Counters, Counts, EVERYTHING, MINUTE_MS, type Subject } from "./counters.ts";
import { Failures } from "./failures.ts";

interface Parts {
  readonly endpoints: Endpoints;
  readonly health: Health;
  readonly index: EndpointIndex;
  readonly tenants: Interned;
}

export class SqliteStatistics implements StatisticsStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #counters: Counters;
  readonly #census: Census;
  readonly #failures: Failures;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    const counters = (this.#counters = engine.mirror(new Counters(engine.db)));
    engine.atBegin(() => counters.write(engine.clock.now()));
    this.#census = new Census(engine.db, parts.index);
    this.#failures = new Failures(engine, parts);
  }

  async period(query: StatsQuery): Promise<Stats | null> {
    const subject = this.#engine.read(() => this.#subjectOf(query));
    return subject === null ? null : this.#read(subject, query);
  }

  async sinceStart(): Promise<SinceStart> {
    const { attempts, published } = this.#counters.sinceStart;
    return { attempts, published, commitTimes: this.#engine.commit.times };
  }

  async save(): Promise<void> {
    const { commit, clock } = this.#engine;
    // Each transaction begins with it.
    if (this.#counters.isDue(clock.now()))
      await commit.run(() => undefined, { events: 0, deliveries: 0, patient: true });
  }

  async prune(before: number): Promise<number> {
    return this.#engine.commit.run(() => this.#counters.prune(before), CHUNK_SIZE);
  }

  async census(from: string | null): Promise<CensusStep> {
    return this.#engine.read(() => this.#census.step(from));
  }

  failures(query: FailureQuery): Promise<FailureReport | null> {
    return this.#failures.report(query);
  }

  async failing(tenant: string | null, now: number, limit: number): Promise<readonly FailingEndpoint[]> {
    const { endpoints, index, health } = this.#parts;
    const isOf = (endpoint: string) => tenant === null || endpoints.tenantOf(endpoint) === tenant;
    return this.#engine.read(() =>
      [...health.failing(now)]
        .filter(([number]) => !index.byNumber(number).deleted && isOf(index.byNumber(number).id))
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, limit)
        .map(([number, consecutiveFailures]) => ({ endpoint: index.byNumber(number).id, consecutiveFailures })),
    );
  }

  /** All that was counted, with the last commit. */
  close(): void {
    this.#engine.commit.run(() => this.#counters.writeAll()).catch(() => {});
  }

  // --- after the commit of what they count ---

  noteAttempts(attempts: readonly EndedAttempt[], recorded: readonly Recorded[]): void {
    const { index } = this.#parts;
    const now = this.#engine.clock.now();
    attempts.forEach((attempt, at) => {
      const endpoint = index.byId(attempt.claim.endpoint);
      if (endpoint === undefined || attempt.claim.trigger === "test") return;
      this.#counters.attempt(attempt, recorded[at]!, [endpoint.number, -endpoint.tenant, EVERYTHING], now);
    });
  }

  /** Held for too long: deliveries that failed, by the numbers of their endpoints. */
  noteExpired(endpoints: readonly number[]): void {
    const { index } = this.#parts;
    const now = this.#engine.clock.now();
    for (const number of endpoints) {
      this.#counters.failedUnsent("held_expired", [number, -index.byNumber(number).tenant, EVERYTHING], now);
    }
  }

  notePublished(drafts: readonly EventDraft[], publications: readonly Publication[]): void {
    const { tenants } = this.#parts;
    const now = this.#engine.clock.now();
    // A batch is mostly of one tenant and type: it is counted in one go.
    for (let at = 0; at < drafts.length;) {
      const { tenant, type } = drafts[at]!;
      let events = 0;
      for (; at < drafts.length && drafts[at]!.tenant === tenant && drafts[at]!.type === type; at++) {
        if (drafts[at]!.testFor === undefined && !publications[at]!.duplicate) events++;
      }
      if (events > 0) this.#counters.published(type, events, [-tenants.find(tenant)!, EVERYTHING], now);
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
    const { read } = this.#engine;
    const total = new Counts();
    const series = Array.from({ length: Math.ceil((until - since) / stepMs) }, () => new Counts());
    const [first, end] = [Math.floor(since / MINUTE_MS), Math.ceil(until / MINUTE_MS)];
    for (let from = first; from < end; from += CHUNK) {
      if (from > first) await this.#engine.turn();
      const to = Math.min(end, from + CHUNK);
      read(() =>
        this.#counters.read(subject, from, to, (minute, counts) => {
          total.add(counts);
          series[Math.floor((minute * MINUTE_MS - since) / stepMs)]!.add(counts);
        }),
      );
    }
    return { attempts: total.attempts, published: total.published, series };
  }
}
