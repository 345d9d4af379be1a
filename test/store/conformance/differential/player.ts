/** Plays a history on one store, and describes the store's answers in words that do not depend on its ids. */
import { noResponse, type Outcome } from "../../../../src/domain/deliveries/attempt.ts";
import { settle, type Claim } from "../../../../src/domain/deliveries/delivery.ts";
import type { NewJob } from "../../../../src/domain/deliveries/job.ts";
import { newPrivateKey } from "../../../../src/domain/endpoints/asymmetric.ts";
import { WebhookdError } from "../../../../src/domain/errors.ts";
import { settledType } from "../../../../src/domain/events/catalogue.ts";
import type { EventDraft } from "../../../../src/domain/events/event.ts";
import type { Capacity } from "../../../../src/domain/events/routing.ts";
import { newId } from "../../../../src/domain/id.ts";
import type { TenantShare } from "../../../../src/domain/time/timetable.ts";
import type { EndedAttempt, Page, PageQuery, Store } from "../../../../src/store/store.ts";
import { Random } from "../../../sim/random.ts";
import { answered, BEGINNING, fullAt, newEndpoint, withCapacity } from "../../fixtures.ts";
import type { StoreUnderTest } from "../../stores.ts";
import { OWN_TYPES, TENANTS, TYPES, type Ending, type Step } from "./history.ts";
import { inWords } from "./words.ts";

const LADDER = [1000, 60_000];
const URL = "https://receiver.example/hook";
const OWN_TYPE = { description: "", schema: {}, sample: {}, group: null, sunsetAt: null, archived: false };
const SWEPT_MS = 1000;
const ORDERS = ["newest", "oldest"] as const;
const STATUSES = ["pending", "held", "delivered", "failed", "cancelled", "shadowed"] as const;
/** The number of filtered lists that each look reads for each tenant. */
const FILTERED = 4;

type ReadList = (query: PageQuery) => Promise<Page<unknown> | null>;

type Of<Do extends Step["do"]> = Extract<Step, { readonly do: Do }>;
type Acts = { readonly [Do in Step["do"]]: (step: Of<Do>) => Promise<unknown> };

export class Player {
  readonly #harness: StoreUnderTest;
  readonly #shares: Map<string, TenantShare>;
  readonly #ids: Random;
  readonly #tenants: readonly string[];
  readonly #endpoints: { readonly id: string; readonly tenant: string }[] = [];
  readonly #events: string[] = [];
  readonly #jobs: string[] = [];
  /** The claims that a dispatcher would hold, and stale ones of deliveries that were cancelled in the meantime. */
  readonly #claims: Claim[] = [];
  readonly #names = new Map<string, string>();
  #published = 0;

  /** `seed` names the tenants, and makes the ids that a caller chooses. */
  constructor(harness: StoreUnderTest, shares: Map<string, TenantShare>, seed: number) {
    this.#harness = harness;
    this.#shares = shares;
    this.#ids = new Random(seed);
    this.#tenants = Array.from({ length: TENANTS }, (_, at) => `tenant-${seed}-${at}`);
  }

  /** Returns the answer to the step, in words. An error is an answer too. */
  async play(step: Step): Promise<string> {
    const act = this.#acts[step.do] as (step: Step) => Promise<unknown>;
    const answer = await act(step).catch((error: unknown) => {
      if (!(error instanceof WebhookdError)) throw error;
      return { refused: error.code, says: error.message };
    });
    return inWords(answer ?? null, this.#names);
  }

  /** True while the store is still rewriting deliveries that already count as cancelled. */
  async isSweeping(): Promise<boolean> {
    for (const { id } of this.#endpoints) {
      if ((await this.#store.deliveries.due(id, BEGINNING, 0, 1)).cancelling === true) return true;
    }
    return false;
  }

  get #store(): Store {
    return this.#harness.store;
  }

  get #now(): number {
    return this.#harness.clock.now();
  }

  readonly #acts: Acts = {
    register: async ({ tenant, events, filter, signatures, whenDisabled }) => {
      const endpoint = newEndpoint({
        id: newId("ep", this.#now, this.#ids.bytes(10)),
        tenant: this.#tenants[tenant]!,
        events,
        filter,
        signatures,
        whenDisabled,
      });
      const added = await this.#store.endpoints.add(endpoint, 1000, this.#now);
      this.#endpoints.push({ id: endpoint.id, tenant: endpoint.tenant });
      return added;
    },
    publish: async ({ tenant, drafts, full }) => {
      const fullIds = new Set(full.map((one) => this.#endpoint(one).id));
      return this.#publish(
        drafts.map(({ type, data, createdAfter, key, label }) => ({
          tenant: this.#tenants[tenant]!,
          type,
          createdAt: this.#now + createdAfter,
          data: Buffer.from(JSON.stringify({ n: this.#published++, ...data })),
          ...(label !== null && { labels: label }),
          ...(key !== null && {
            idempotency: {
              key: key.name,
              fingerprint: Buffer.alloc(32, key.body),
              expiresAt: Number.MAX_SAFE_INTEGER,
            },
          }),
        })),
        fullAt(fullIds),
      );
    },
    test: async ({ endpoint }) => {
      const { id, tenant } = this.#endpoint(endpoint);
      const data = Buffer.from("{}");
      return this.#publish([{ tenant, type: "webhookd.test", createdAt: this.#now, data, testFor: id }], withCapacity);
    },
    read: async ({ endpoint, limit, onlyFirst }) => {
      const { deliveries } = this.#store;
      const { id } = this.#endpoint(endpoint);
      if (onlyFirst) return deliveries.dueFirst(id, BEGINNING, this.#now, limit);
      const page = await deliveries.due(id, BEGINNING, this.#now, limit);
      this.#claims.push(...page.claims);
      return page;
    },
    record: async ({ claims }) => {
      if (this.#claims.length === 0) return null;
      const attempts = claims.map(({ claim, ending }) => this.#attempt(this.#claim(claim), ending));
      const recorded = await this.#store.deliveries.record(attempts);
      for (const { claim } of attempts) if (this.#ids.chance(0.9)) this.#drop(claim);
      return recorded;
    },
    park: async ({ claims }) => {
      if (this.#claims.length === 0) return null;
      const some = [...new Map(claims.map((one) => [this.#claim(one).delivery, this.#claim(one)])).values()];
      for (const claim of some) this.#drop(claim);
      return this.#store.deliveries.park(some, this.#now);
    },
    replay: async ({ event, force, endpoint }) => {
      if (this.#events.length === 0) return null;
      const scope = { force, ...(endpoint !== null && { endpoint: this.#endpoint(endpoint).id }) };
      return this.#store.events.replay(null, this.#event(event), scope, this.#now);
    },
    cancel: async ({ event, endpoint }) => {
      if (this.#events.length === 0) return null;
      const only = endpoint === null ? null : this.#endpoint(endpoint).id;
      return this.#store.events.cancel(null, this.#event(event), only);
    },
    erase: async ({ event }) => {
      return this.#events.length === 0 ? null : this.#store.events.erase(null, this.#event(event), this.#now);
    },
    request: async ({ event, delivery, claims }) => {
      if (this.#events.length === 0) return null;
      const view = await this.#store.reads.getEvent(null, this.#event(event));
      if (view === null || view.deliveries.length === 0) return view;
      const { id } = view.deliveries[delivery % view.deliveries.length]!;
      const requested = await this.#store.deliveries.requestAttempt(null, id, this.#now);
      const claim = claims ? await this.#store.deliveries.requestedAttempt(id) : null;
      if (claim !== null) this.#claims.push(claim);
      return { requested, claim };
    },
    enable: async ({ endpoint, enabled, held }) => {
      const { id } = this.#endpoint(endpoint);
      return this.#store.endpoints.update(null, id, (all) => ({ ...all, enabled }), this.#now, held);
    },
    disable: async ({ endpoint, reason }) => {
      return this.#store.endpoints.disable(this.#endpoint(endpoint).id, URL, reason, this.#now);
    },
    choose: async ({ endpoint, events, filter, signatures }) => {
      const { id } = this.#endpoint(endpoint);
      return this.#store.endpoints.update(null, id, (all) => ({ ...all, events, filter, signatures }), this.#now);
    },
    type: async ({ name, deprecated, validation }) => {
      const settings = { ...OWN_TYPE, deprecated, validation };
      return this.#store.types.put([name], (before) => settledType(name, before, settings, this.#now));
    },
    "delete type": async ({ name }) => {
      const revision = await this.#store.types.delete(name, this.#now);
      return { isDeleted: revision !== null };
    },
    key: async (step) => this.#key(step),
    delete: async ({ endpoint }) => this.#store.endpoints.delete(null, this.#endpoint(endpoint).id, this.#now),
    job: async (step) => {
      const job = this.#newJob(step);
      const { tenant, action, filter } = job;
      const plan = await this.#store.jobs.plan({ tenant, action, filter });
      const added = await this.#store.jobs.add(job, null, this.#now);
      this.#jobs.push(job.id);
      return { plan, added };
    },
    work: async ({ job, limit, check }) => {
      if (this.#jobs.length === 0) return null;
      const { jobs } = this.#store;
      const id = this.#jobs[job % this.#jobs.length]!;
      const endpoints = await jobs.endpoints(id, null);
      const step = await jobs.step(
        id,
        // Each store has its own order of endpoints.
        this.#endpoints.flatMap(({ id: endpoint }) =>
          endpoints.some((one) => one.endpoint === endpoint) ? [{ endpoint, limit, check }] : [],
        ),
        this.#now,
      );
      const isOver = await jobs.close(id, this.#now);
      return { endpoints: new Set(endpoints), step, isOver, job: await jobs.get(null, id) };
    },
    steer: async ({ job, to }) => {
      if (this.#jobs.length === 0) return null;
      const id = this.#jobs[job % this.#jobs.length]!;
      return this.#store.jobs.steer(null, id, to, this.#now, "send_all");
    },
    limit: async ({ tenant, pending }) => {
      this.#shares.set(this.#tenants[tenant]!, { weight: 1, ratePerSecond: null, maxPending: pending });
      return null;
    },
    clock: async ({ endpoint, by }) => {
      const { id } = this.#endpoint(endpoint);
      const change = { by, at: this.#now, ladder: LADDER, except: new Set<string>() };
      return this.#store.recovery.shiftDue(id, change, null);
    },
    expire: async ({ olderMs }) => this.#store.upkeep.expireHeld(this.#now - olderMs, this.#now),
    prune: async ({ deliveredMs, failedMs }) => {
      const rules = { delivered: this.#now - deliveredMs, failed: this.#now - failedMs };
      for (let from: string | null = null; ;) {
        ({ next: from } = await this.#store.upkeep.pruneEvents(rules, from));
        if (from === null) return null;
      }
    },
    restart: async () => {
      await this.#harness.reopen();
      this.#claims.length = 0;
      return null;
    },
  };

  /**
   * Returns everything that the store shows of this history, in words: lists, some with a filter, counts, and due
   * deliveries.
   */
  async look(random: Random): Promise<readonly (readonly [string, string])[]> {
    const { deliveries, endpoints, jobs, reads, statistics, upkeep } = this.#store;
    const looks: [string, unknown][] = [];
    for (const tenant of this.#tenants) {
      const list = async (name: string, orders: readonly PageQuery["order"][], read: ReadList) => {
        for (const order of orders) {
          looks.push([`${name} of ${tenant}, ${order}`, await whole((page) => read({ tenant, order, ...page }))]);
        }
      };
      await list("events", ORDERS, (query) => reads.listWholeEvents(query));
      await list("endpoints", ORDERS, (query) => endpoints.list(query));
      for (let count = 0; count < FILTERED; count++) {
        const [name, read] = random.pick(this.#filtered);
        await list(name, [random.pick(ORDERS)], read);
      }
      const minute = 60_000;
      const parts = { from: Math.floor(this.#now / minute) * minute - 60 * minute, stepMs: minute, parts: 1 };
      const failures = await statistics.failures({ tenant, since: 0, limit: 100, ...parts });
      looks.push([`failures of ${tenant}`, failures && { ...failures, groups: new Set(failures.groups) }]);
      looks.push([`keys of ${tenant}`, await this.#store.signingKeys.get(tenant)]);
      looks.push([`failing of ${tenant}`, new Set(await statistics.failing(tenant, this.#now, 100))]);
    }
    for (const { id } of this.#endpoints) {
      const all = { tenant: null, order: "oldest", endpoint: id } as const;
      looks.push([`attempts of ${id}`, await whole((page) => reads.listEndpointAttempts({ ...all, ...page }))]);
      looks.push([`deliveries of ${id}`, await whole((page) => reads.listDeliveries({ ...all, ...page }))]);
      looks.push([`target of ${id}`, await endpoints.target(id)]);
      looks.push([`health of ${id}`, await endpoints.health(null, id)]);
      looks.push([`failing since of ${id}`, await endpoints.failingSince(id)]);
      looks.push([`due of ${id}`, await deliveries.due(id, BEGINNING, Number.MAX_SAFE_INTEGER, 500)]);
      looks.push([`waiting of ${id}`, await deliveries.waiting(id, BEGINNING, 500)]);
    }
    const { types, deleted } = await this.#store.types.list();
    looks.push(["types", { types: new Set(types), deleted: new Set(deleted) }]);
    const inUse = await endpoints.typesInUse(TYPES);
    looks.push(["types in use", new Set(inUse.map((one) => ({ ...one, some: new Set(one.some) })))]);
    for (const id of this.#jobs) looks.push([`job ${id}`, await jobs.get(null, id)]);
    const own = new Set(this.#endpoints.map(({ id }) => id));
    const ofOwn = <T extends { readonly endpoint: string }>(all: readonly T[]) =>
      new Set(all.filter(({ endpoint }) => own.has(endpoint)));
    looks.push(["fresh", ofOwn(await deliveries.fresh(null, 500))]);
    looks.push(["requested", ofOwn(await deliveries.requestedAttempts(null, 500))]);
    looks.push(["wrong counts of what is pending", await upkeep.mendPending()]);
    return looks.map(([name, answer]) => [name, inWords(answer ?? null, this.#names)]);
  }

  get #filtered(): readonly (readonly [string, ReadList])[] {
    const { endpoints, jobs, reads } = this.#store;
    const all: (readonly [string, ReadList])[] = STATUSES.flatMap((status) => [
      [`${status} events`, (query) => reads.listEvents({ ...query, status, total: true })],
      [`${status} deliveries`, (query) => reads.listDeliveries({ ...query, status, total: true })],
    ]);
    const statusCode = { least: 400, most: 599 };
    all.push(
      ["unmatched events", (query) => reads.listEvents({ ...query, status: "unmatched", total: true })],
      ["tagged events", (query) => reads.listEvents({ ...query, tag: "t1" })],
      ["labelled deliveries", (query) => reads.listDeliveries({ ...query, label: "p1" })],
      ["deliveries of tests", (query) => reads.listDeliveries({ ...query, test: true })],
      ["events with a timeout", (query) => reads.listEvents({ ...query, error: "timeout" })],
      ["deliveries with a timeout", (query) => reads.listDeliveries({ ...query, error: "timeout", total: true })],
      ["deliveries by status code", (query) => reads.listDeliveries({ ...query, statusCode })],
      ["failed deliveries by status code", (query) => reads.listDeliveries({ ...query, statusCode, status: "failed" })],
      ["disabled endpoints", (query) => endpoints.list({ ...query, enabled: false })],
      ["endpoints by failures", (query) => endpoints.list({ ...query, sort: "failing" })],
      ["jobs", (query) => jobs.list(query)],
    );
    for (const type of [...TYPES, OWN_TYPES[0]]) {
      all.push([`endpoints of ${type}`, (query) => endpoints.list({ ...query, type })]);
    }
    for (const type of TYPES) all.push([`events of ${type}`, (query) => reads.listEvents({ ...query, type })]);
    return all;
  }

  async #publish(drafts: readonly EventDraft[], capacity: Capacity): Promise<unknown> {
    const publications = await this.#store.events.publish(drafts, this.#now, capacity);
    for (const { id, duplicate, fresh } of publications) {
      if (!duplicate) this.#events.push(id);
      this.#claims.push(...fresh);
    }
    return publications;
  }

  #key({ tenant: of, to, overlapMs }: Of<"key">): Promise<unknown> {
    const keys = this.#store.signingKeys;
    const tenant = this.#tenants[of]!;
    const next = { secret: newPrivateKey((bytes) => this.#ids.bytes(bytes)), switchesAt: this.#now + overlapMs };
    switch (to) {
      case "rotate":
        return keys.rotate(tenant, next, this.#now);
      case "complete":
        return keys.complete(tenant, this.#now);
      case "abandon":
        return keys.abandon(tenant);
      case "publish":
        return keys.publish(tenant, overlapMs > 0);
      case "switch":
        return keys.switchDue(this.#now).then((switched) => new Set(switched));
    }
  }

  #newJob({ action, endpoint, tenant, missing, delivered, canary }: Of<"job">): NewJob {
    const of = endpoint === null ? null : this.#endpoint(endpoint);
    return {
      id: newId("job", this.#now, this.#ids.bytes(10)),
      tenant: of?.tenant ?? this.#tenants[tenant]!,
      action,
      filter: {
        test: false,
        missing,
        ...(delivered && !missing && { status: "delivered" as const }),
        ...(of !== null && { endpoint: of.id }),
      },
      ratePerSecond: 500,
      canary,
      reason: "",
    };
  }

  #attempt(claim: Claim, ending: Ending): EndedAttempt {
    const outcome = outcomeOf(ending);
    const endedAt = this.#now + outcome.durationMs;
    const verdict = settle(claim, outcome, LADDER, endedAt);
    return { claim, url: URL, startedAt: this.#now, outcome, verdict, secretVersion: 1 };
  }

  #endpoint(ordinal: number): { readonly id: string; readonly tenant: string } {
    return this.#endpoints[ordinal % this.#endpoints.length]!;
  }

  #event(ordinal: number): string {
    return this.#events[ordinal % this.#events.length]!;
  }

  #claim(ordinal: number): Claim {
    return this.#claims[ordinal % this.#claims.length]!;
  }

  #drop(claim: Claim): void {
    const at = this.#claims.indexOf(claim);
    if (at >= 0) this.#claims.splice(at, 1);
  }
}

/** Sweeps run between the steps, and wait for the clock. It moves by the same time on every store. */
export async function settleSweeps(players: readonly Player[], advance: (ms: number) => void): Promise<void> {
  advance(SWEPT_MS);
  for (const player of players) {
    while (await player.isSweeping()) await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function outcomeOf(ending: Ending): Outcome {
  switch (ending) {
    case "delivered":
      return answered(200);
    case "answered 500":
      return answered(500);
    case "answered 410":
      return answered(410);
    case "redirect":
      return answered(302, { outcome: "failed", error: "redirect_not_followed" });
    case "timeout":
      return noResponse("timeout", "no answer within 10 s", 10_000);
    case "interrupted":
      return noResponse("interrupted", "webhookd was stopped during the attempt", 3);
  }
}

/** Returns all pages of a list. The cursors, and the ends of pages, are the store's own. */
async function whole<T>(read: (page: { limit: number; cursor?: string }) => Promise<Page<T> | null>): Promise<unknown> {
  const data: T[] = [];
  let total: unknown;
  for (let cursor: string | undefined; ;) {
    const page: Page<T> | null = await read({ limit: 7, ...(cursor !== undefined && { cursor }) });
    if (page === null) return null;
    data.push(...page.data);
    total ??= page.total;
    if (page.nextCursor === null) return { data, total };
    cursor = page.nextCursor;
  }
}
