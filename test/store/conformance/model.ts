import { describe, expect, it } from "vitest";
import { JOB_ACTIONS, type NewJob } from "../../../src/domain/deliveries/job.ts";
import { settle, type Claim, type Position } from "../../../src/domain/deliveries/delivery.ts";
import { noResponse } from "../../../src/domain/deliveries/attempt.ts";
import type { EventDraft } from "../../../src/domain/events/event.ts";
import type { TenantShare } from "../../../src/domain/time/timetable.ts";
import { newId } from "../../../src/domain/id.ts";
import type { EndedAttempt, JobStep, Store } from "../../../src/store/store.ts";
import { around } from "../../harness/store.ts";
import { Random } from "../../sim/random.ts";
import {
  addEndpoint,
  answered,
  BEGINNING,
  brokenCapacity,
  draft,
  EVERYTHING,
  fullAt,
  withCapacity,
  START,
} from "../fixtures.ts";
import type { OpenFresh, StoreUnderTest } from "../stores.ts";
import {
  claimOf,
  ExpectedStore,
  isSentTo,
  isWaiting,
  mayReplay,
  placeOf,
  said,
  waitingOf,
  type Expected,
  type ExpectedEndpoint,
} from "./model/expected.ts";

const LADDER = [1000, 60_000];
const TYPES = ["budget.exceeded", "goal.achieved"];
const seeds = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const DAY = 86_400_000;
const NO_LIMIT = 1_000_000_000;
const WRITES = new Set([
  ...["publish", "replay", "cancel", "erase"].map((verb) => `events.${verb}`),
  ...["record", "park", "requestAttempt"].map((verb) => `deliveries.${verb}`),
  ...["steer", "step", "close"].map((verb) => `jobs.${verb}`),
  ...["pruneEvents", "expireHeld"].map((verb) => `upkeep.${verb}`),
  "recovery.shiftDue",
]);

/** Tests the store against a model of deliveries, with random operations in random order. */
export function likeItsModel(openFresh: OpenFresh, few: number, many: number): void {
  describe("like a model of it", () => {
    it.each(seeds(1, few))("keeps what few deliveries are, seed %i", async (seed) => {
      await new Pair(await openLimited(openFresh), seed, 3).go(160);
    });

    // A step of the store takes 500 rows, so 700 deliveries of one kind need two steps.
    it.each(seeds(101, 100 + many))("keeps what many deliveries are, seed %i", async (seed) => {
      await new Pair(await openLimited(openFresh), seed, 700).go(40);
    });
  });
}

/** Opens a store with a limit on pending deliveries. The limit is out of reach until a test lowers it. */
async function openLimited(openFresh: OpenFresh): Promise<LimitedStore> {
  const shares = new Map<string, TenantShare>();
  const limit = (maxPending: number) => shares.set("default", { weight: 1, ratePerSecond: null, maxPending });
  limit(NO_LIMIT);
  return { harness: await openFresh({ shares }), limit };
}

interface LimitedStore {
  readonly harness: StoreUnderTest;
  readonly limit: (maxPending: number) => void;
}

class Pair {
  readonly #harness: StoreUnderTest;
  readonly #limit: LimitedStore["limit"];
  readonly #random: Random;
  readonly #most: number;
  readonly #model = new ExpectedStore();
  /** The claims in memory, by delivery. There are never two for one delivery. */
  readonly #loaded = new Map<string, Claim>();
  /** Claims that a success or a cancel has overtaken. They may still end. */
  readonly #stale: Claim[] = [];
  readonly #keys = new Map<string, string>();
  readonly #log: string[] = [];
  #published = 0;
  readonly #undone: Promise<unknown>[] = [];

  constructor({ harness, limit }: LimitedStore, seed: number, most: number) {
    this.#harness = harness;
    this.#limit = limit;
    this.#random = new Random(seed);
    this.#most = most;
  }

  /** Sometimes another caller's work undoes the shared commit. The operation must still take effect once. */
  get #store(): Store {
    return around(this.#harness.store, (verb, call) => {
      if (WRITES.has(verb) && this.#random.chance(0.15)) this.#undoCommit();
      return call();
    });
  }

  #undoCommit(): void {
    const takers = this.#model.endpoints.filter((one) => isSentTo(one) && one.events.includes(TYPES[0]!));
    // Without a recipient the capacity is not read, and the event would be published.
    if (takers.length === 0) return;
    const broken = brokenCapacity("undone");
    this.#undone.push(
      this.#harness.store.events.publish([draft({ type: TYPES[0]! })], this.#now, broken).then(
        () => Promise.reject(new Error("a publish that throws was answered")),
        (error: unknown) => expect(error).toMatchObject({ message: "undone" }),
      ),
    );
  }

  get #now(): number {
    return this.#harness.clock.now();
  }

  async go(steps: number): Promise<void> {
    for (let at = 0; at < 3; at++) await this.#addEndpoint();
    const acts: readonly [name: string, weight: number, act: () => Promise<void>][] = [
      ["publish", 4, () => this.#publish()],
      ["read", 9, () => this.#read()],
      ["end", 14, () => this.#end()],
      ["park", 2, () => this.#park()],
      ["replay", 4, () => this.#replay()],
      ["cancel", 1, () => this.#cancel()],
      ["toggle", 4, () => this.#toggle()],
      ["delete", 0.6, () => this.#delete()],
      ["ask", 4, () => this.#ask()],
      ["job", 3, () => this.#job()],
      ["shift", 1, () => this.#shift()],
      ["expire", 0.5, () => this.#expire()],
      ["prune", 0.5, () => this.#prune()],
      ["crash", 0.7, () => this.#crash()],
    ];
    const sum = acts.reduce((all, [, weight]) => all + weight, 0);
    try {
      for (let step = 0; step < steps; step++) {
        let roll = this.#random.next() * sum;
        const [name, , act] = acts.find(([, weight]) => (roll -= weight) < 0) ?? acts[0]!;
        this.#log.push(name);
        await act();
        await Promise.all(this.#undone.splice(0));
        this.#harness.clock.advance(this.#random.pick([0, 0, 500, 2000, 70_000]));
        if (step % 16 === 15) await this.#compare();
      }
      await this.#compare();
    } catch (error) {
      throw new Error(`after ${this.#log.slice(-25).join(", ")}`, { cause: error });
    }
  }

  // --- operations ---

  async #addEndpoint(): Promise<void> {
    const events = this.#model.endpoints.length === 0 ? TYPES : TYPES.filter(() => this.#random.chance(0.7));
    const id = await addEndpoint(this.#store, { events });
    this.#model.endpoints.push({ id, events, enabled: true, deleted: false, changedAt: START });
  }

  async #publish(): Promise<void> {
    const random = this.#random;
    const full = new Set(this.#model.endpoints.filter(() => random.chance(0.3)).map(({ id }) => id));
    const test = random.chance(0.2) ? this.#anyEndpoint() : null;
    const drafts = Array.from({ length: test === null ? random.between(1, this.#most) : 1 }, () => this.#draft(test));
    const publications = await this.#store.events.publish(drafts, this.#now, fullAt(full));
    const loaded: Claim[] = [];
    for (const [at, { id, duplicate, fresh, waiting }] of publications.entries()) {
      const key = drafts[at]!.idempotency?.key;
      const before = key === undefined ? undefined : this.#keys.get(key);
      if (before !== undefined) {
        expect({ id, duplicate, fresh, waiting }).toEqual({ id: before, duplicate: true, fresh: [], waiting: [] });
        continue;
      }
      if (key !== undefined) this.#keys.set(key, id);
      const made = this.#model.published(id, drafts[at]!, this.#now, full);
      expect(fresh.map(said)).toEqual(made.filter((one) => one.fresh).map((one) => ({ ...claimOf(one), fresh: true })));
      expect(waiting).toEqual(made.flatMap((one) => waitingOf(one) ?? []));
      loaded.push(...fresh);
    }
    for (const claim of loaded) this.#loaded.set(claim.delivery, claim);
  }

  #draft(test: ExpectedEndpoint | null): EventDraft {
    const random = this.#random;
    const place = this.#published++;
    const key = test === null && random.chance(0.1) ? `k${random.between(0, 5)}` : null;
    const fingerprint = Buffer.alloc(32);
    return draft({
      type: random.pick(TYPES),
      createdAt: this.#now + random.pick([-DAY, -1, 0, 1, DAY]),
      data: Buffer.from(`{"n":${place}.10,"text":"é\\u00e9 \u{1f4b6}"}`),
      ...(test !== null && { testFor: test.id }),
      ...(key !== null && { idempotency: { key, fingerprint, expiresAt: Number.MAX_SAFE_INTEGER } }),
    });
  }

  /** Reads due deliveries as the dispatcher does, and skips those that are loaded already. */
  async #read(): Promise<void> {
    const { id } = this.#anyEndpoint();
    const limit = this.#random.pick([1, 3, 256]);
    const page = await this.#store.deliveries.due(id, BEGINNING, this.#now, limit);
    if (page.cancelling === true) return;
    const expected = this.#model.waiting(id).filter(({ dueAt }) => dueAt <= this.#now);
    expect(page.claims.map(said)).toEqual(expected.slice(0, limit).map(claimOf));
    if (!this.#isOpen(id)) return;
    for (const claim of page.claims) if (!this.#loaded.has(claim.delivery)) this.#loaded.set(claim.delivery, claim);
  }

  async #end(): Promise<void> {
    const random = this.#random;
    const from = random.chance(0.2) && this.#stale.length > 0 ? this.#stale : [...this.#loaded.values()];
    const batch = random.chance(this.#most > 500 ? 0.4 : 0.1)
      ? from
      : from.slice(0, random.between(1, Math.max(4, this.#most / 2)));
    if (batch.length === 0) return;
    for (const { endpoint } of batch) await this.#whenSwept(endpoint);
    const attempts = batch.map((claim) => this.#attemptOf(claim));
    const recorded = await this.#store.deliveries.record(attempts);
    expect(recorded).toEqual(attempts.map((attempt) => this.#model.ended(attempt)));
    for (const claim of batch) {
      this.#loaded.delete(claim.delivery);
      if (random.chance(0.1)) this.#stale.push(claim);
    }
    if (from === this.#stale) this.#stale.length = 0;
  }

  #attemptOf(claim: Claim): EndedAttempt {
    const roll = this.#random.next();
    const interrupted = { ...noResponse("interrupted", "the daemon stopped", 1), ours: true };
    const outcome = roll < 0.35 ? answered(200) : roll < 0.85 ? answered(503) : interrupted;
    const endedAt = this.#now + this.#random.pick([0, 0.25]);
    const verdict = settle(claim, outcome, LADDER, endedAt);
    return { claim, url: "https://receiver.example/hook", startedAt: this.#now, outcome, verdict, secretVersion: 1 };
  }

  async #park(): Promise<void> {
    const claims = [...this.#loaded.values()].slice(0, this.#random.between(1, Math.min(500, this.#most)));
    for (const { endpoint } of claims) await this.#whenSwept(endpoint);
    const waiting = await this.#store.deliveries.park(claims, this.#now);
    const these = claims.flatMap(({ event, endpoint }) => this.#model.of(event, endpoint) ?? []);
    expect(waiting).toEqual(this.#model.parked(this.#now, these).map(waitingOf));
    for (const { delivery } of claims) this.#loaded.delete(delivery);
  }

  async #replay(): Promise<void> {
    const force = this.#random.chance(0.3);
    const found = this.#some((one) => mayReplay(one, force)) ?? this.#some(() => true);
    if (found === undefined) return;
    const scope = { force, ...(this.#random.chance(0.3) && { endpoint: found.endpoint.id }) };
    await this.#whenAllSwept();
    const all = this.#ofEvent(found.event.id).filter(({ endpoint }) => (scope.endpoint ?? endpoint.id) === endpoint.id);
    const these = all.filter((one) => mayReplay(one, force));
    const replay = await this.#store.events.replay(null, found.event.id, scope, this.#now);
    for (const one of these) this.#model.replayed(one, this.#now);
    if (replay.result !== "replayed") expect(these).toEqual([]);
    else {
      const isQuiet = found.event.test && { isQuiet: true };
      expect(new Set(replay.waiting)).toEqual(new Set(these.map((one) => ({ ...waitingOf(one), ...isQuiet }))));
    }
  }

  async #cancel(): Promise<void> {
    const found = this.#some(({ status }) => status === "pending");
    if (found === undefined) return;
    const { event, endpoint } = found;
    const erases = this.#random.chance(0.3);
    const only = !erases && this.#random.chance(0.5) ? endpoint.id : null;
    await this.#whenAllSwept();
    const { events } = this.#store;
    const done = await (erases ? events.erase(null, event.id, this.#now) : events.cancel(null, event.id, only));
    const these = this.#ofEvent(event.id).filter((one) => (only ?? one.endpoint.id) === one.endpoint.id);
    expect(done).toMatchObject({ result: "withdrawn", cancelled: this.#model.cancelled(these) });
    if (erases) event.erased = true;
    this.#letGo(({ event: id }) => id === event.id);
  }

  /**
   * Enables and disables an endpoint several times. A change may come while held deliveries are still being cancelled,
   * or share a commit with the one before.
   */
  async #toggle(): Promise<void> {
    const random = this.#random;
    const endpoint = this.#anyEndpoint();
    if (endpoint.deleted) return;
    for (let times = random.pick(this.#most > 500 ? [1, 3, 6] : [1, 1, 2, 4]); times > 0; times--) {
      const changes: Promise<() => void>[] = [];
      for (const enabled of random.pick([[!endpoint.enabled], [false, true], [true, false], [endpoint.enabled]])) {
        changes.push(this.#enabling(endpoint, enabled, random.chance(0.5) ? "cancel" : "release"));
      }
      for (const follow of await Promise.all(changes)) follow();
      if (random.chance(0.4)) await this.#publish();
    }
    this.#letGo((claim) => claim.endpoint === endpoint.id);
  }

  async #enabling(endpoint: ExpectedEndpoint, enabled: boolean, held: "cancel" | "release"): Promise<() => void> {
    await this.#store.endpoints.update(null, endpoint.id, (all) => ({ ...all, enabled }), this.#now, held);
    return () => {
      const these = this.#model.deliveries.filter((one) => one.endpoint === endpoint);
      if (endpoint.enabled && !enabled) for (const one of these) one.owed = false;
      if (!endpoint.enabled && enabled && held === "cancel") {
        this.#model.cancelled(these.filter(({ status }) => status === "pending"));
      }
      endpoint.enabled = enabled;
      endpoint.changedAt = this.#now;
    };
  }

  async #delete(): Promise<void> {
    const endpoint = this.#anyEndpoint();
    if (endpoint.deleted) return;
    await this.#store.endpoints.delete(null, endpoint.id, this.#now);
    endpoint.deleted = true;
    this.#model.cancelled(this.#model.deliveries.filter((one) => one.endpoint === endpoint));
    this.#letGo((claim) => claim.endpoint === endpoint.id);
    await this.#addEndpoint();
  }

  /** Asks for an attempt by hand, and sometimes loads its claim. */
  async #ask(): Promise<void> {
    const found = this.#some(({ status }) => status === "pending" || status === "failed");
    if (found === undefined) return;
    await this.#whenAllSwept();
    const delivery = await this.#idOf(found);
    const requested = await this.#store.deliveries.requestAttempt(null, delivery, this.#now);
    const result = found.event.erased ? "gone" : found.endpoint.deleted ? "endpoint_deleted" : "requested";
    expect(requested.result).toBe(result);
    found.owed ||= result === "requested";
    if (this.#loaded.has(delivery) || this.#random.chance(0.4)) return;
    const claim = await this.#store.deliveries.requestedAttempt(delivery);
    expect(claim && said(claim)).toEqual(owedClaim(found));
    if (claim !== null) this.#loaded.set(delivery, claim);
  }

  async #job(): Promise<void> {
    const random = this.#random;
    const endpoint = random.chance(0.5) ? this.#anyEndpoint() : null;
    const action = random.pick(JOB_ACTIONS);
    const missing = action === "replay" && endpoint !== null && random.chance(0.5);
    const status = action === "replay" && !missing && random.chance(0.4) ? { status: "delivered" as const } : {};
    const job: NewJob = {
      id: newId("job", this.#now, random.bytes(10)),
      tenant: "default",
      action,
      filter: { test: false, missing, ...status, ...(endpoint !== null && { endpoint: endpoint.id }) },
      ratePerSecond: 500,
      canary: false,
      reason: "",
    };
    await this.#whenAllSwept();
    const set = missing ? this.#missing(endpoint!) : this.#model.deliveries.filter((one) => isMeant(one, job));
    const within = set.filter((one) => endpoint === null || one.endpoint === endpoint).map(placeIn);
    const added = await this.#store.jobs.add(job, null, this.#now);
    expect(added).toMatchObject({ result: "added", job: { matched: within.length } });
    // Other changes may happen between the plan and its execution.
    if (random.chance(0.3)) await this.#end();
    if (random.chance(0.3)) await this.#toggle();
    await this.#whenAllSwept();
    await this.#walk(job, within);
    await this.#store.jobs.steer(null, job.id, "cancelled", this.#now);
    while (!(await this.#store.jobs.close(job.id, this.#now)));
  }

  async #walk(job: NewJob, set: readonly Place[]): Promise<void> {
    const limit = this.#random.pick([1, 2, 500]);
    for (const { endpoint } of await this.#store.jobs.endpoints(job.id, null)) {
      const own = set.filter((one) => one.endpoint.id === endpoint);
      const turn = own.toSorted((a, b) => (a.event.id < b.event.id ? -1 : 1)).slice(0, limit);
      const still = turn.filter((one) => {
        const now = this.#model.of(one.event.id, endpoint);
        return job.filter.missing ? now === undefined && isSentTo(one.endpoint) : isMeant(now!, job);
      });
      const step = await this.#store.jobs.step(job.id, [{ endpoint, limit, check: false }], this.#now);
      this.#stepped(job, step, still);
    }
  }

  #stepped({ action, filter }: NewJob, { waiting, requested, withdrawn }: JobStep, these: readonly Place[]): void {
    const found = these.map(({ event, endpoint }) => this.#model.of(event.id, endpoint.id)!);
    for (const { event, endpoint } of filter.missing ? these : []) this.#model.filled(event.id, endpoint, this.#now);
    if (action === "replay" && !filter.missing) for (const one of found) this.#model.replayed(one, this.#now);
    if (action === "cancel") this.#model.cancelled(found);
    const acted = waiting.length + requested.length + withdrawn.length;
    expect(acted, `${action} of ${these.length}`).toBe(these.length);
    const places = these.map(({ event, endpoint }) => ({ event: event.id, endpoint: endpoint.id, dueAt: this.#now }));
    if (action === "replay") expect(waiting).toEqual(places);
    if (action === "cancel")
      this.#letGo(({ event, endpoint }) => this.#model.of(event, endpoint)?.status === "cancelled");
    // Attempts that the job asks for are lost when it is cancelled below. Attempts that an operator asked for stay.
  }

  async #shift(): Promise<void> {
    const { id } = this.#anyEndpoint();
    const change = { by: this.#random.pick([-5000, 5000, null]), at: this.#now, ladder: LADDER };
    let from: Position | null = null;
    do {
      const step = await this.#store.recovery.shiftDue(id, { ...change, except: new Set() }, from);
      from = step.next;
    } while (from !== null);
    this.#model.shifted(id, change);
    this.#letGo((claim) => claim.endpoint === id);
  }

  async #expire(): Promise<void> {
    await this.#whenAllSwept();
    const before = this.#now - 100_000;
    let failed = 0;
    for (let some = 500; some === 500; failed += some) some = await this.#store.upkeep.expireHeld(before, this.#now);
    expect(failed).toBe(this.#model.expired(before));
  }

  /** Prunes. Events whose deliveries have all ended may be removed, but those with pending or failed ones must stay. */
  async #prune(): Promise<void> {
    const rules = { delivered: this.#now - 200_000, failed: Number.NEGATIVE_INFINITY };
    for (let from: string | null = null; ;) {
      ({ next: from } = await this.#store.upkeep.pruneEvents(rules, from));
      if (from === null) break;
    }
    for (const event of this.#model.events.values()) {
      if ((await this.#store.reads.getEvent(null, event.id)) !== null) continue;
      const left = this.#ofEvent(event.id).filter(({ status }) => status === "pending" || status === "failed");
      expect(event.test ? left.filter(({ status }) => status === "pending") : left, event.id).toEqual([]);
      this.#model.pruned(event.id);
      this.#letGo((claim) => claim.event === event.id);
    }
  }

  async #crash(): Promise<void> {
    await this.#harness.crash();
    this.#loaded.clear();
    this.#model.parked(this.#now);
  }

  // --- comparisons ---

  async #compare(): Promise<void> {
    await this.#whenAllSwept();
    const { deliveries, reads } = this.#store;
    const shown = new Map<string, string>();
    for (let cursor: string | null = ""; cursor !== null;) {
      const more: { cursor?: string } = cursor === "" ? {} : { cursor };
      const page = await reads.listWholeEvents({ ...EVERYTHING, ...more });
      for (const event of page.data) {
        for (const one of event.deliveries) shown.set(`${event.id} ${one.endpoint}`, `${one.status} ${one.attempts}`);
      }
      cursor = page.nextCursor;
    }
    const expected = this.#model.deliveries.map((one) => [placeText(one), shownAs(one)] as const);
    expect(shown).toEqual(new Map(expected));
    for (const { id } of this.#model.endpoints) {
      const limit = this.#random.pick([7, 100, 1000]);
      const claims: Claim[] = [];
      for (let after: Position = BEGINNING; ;) {
        const page = await deliveries.due(id, after, Number.MAX_SAFE_INTEGER, limit);
        claims.push(...page.claims);
        if (page.claims.length < limit) break;
        after = page.claims.at(-1)!;
      }
      expect(claims.map(said)).toEqual(this.#model.waiting(id).map(claimOf));
    }
    const fresh = this.#model.deliveries.filter((one) => one.status === "pending" && one.fresh);
    const first = await deliveries.fresh(null, 500);
    expect(first).toHaveLength(Math.min(500, fresh.length));
    if (fresh.length <= 500)
      expect(new Set(first.map(placeOf))).toEqual(
        new Set(fresh.map(({ event, endpoint, dueAt }) => placeOf({ event: event.id, endpoint: endpoint.id, dueAt }))),
      );
    const owed = new Map<string, unknown>();
    for (const { delivery } of await deliveries.requestedAttempts(null, 1000)) {
      const claim = await deliveries.requestedAttempt(delivery);
      if (claim !== null) owed.set(`${claim.event} ${claim.endpoint}`, said(claim));
    }
    const asked = this.#model.deliveries.flatMap((one) => {
      const claim = owedClaim(one);
      return claim === null ? [] : [[placeText(one), claim] as const];
    });
    expect(owed).toEqual(new Map(asked));
    await this.#compareCount();
  }

  /**
   * Compares the store's counter of pending deliveries with the model. The refusal of a publish over the limit tells
   * the count.
   */
  async #compareCount(): Promise<void> {
    expect(await this.#store.upkeep.mendPending()).toEqual([]);
    const pending = this.#model.deliveries.filter(({ status }) => status === "pending").length;
    const takers = this.#model.endpoints.filter((one) => !one.deleted && one.events.includes(TYPES[0]!)).length;
    if (pending === 0 || takers === 0) return;
    const limit = Math.max(pending, takers);
    this.#limit(limit);
    const refused = this.#harness.store.events.publish([draft({ type: TYPES[0]! })], this.#now, withCapacity);
    const message = `the tenant default has ${pending} deliveries pending, and its limit is ${limit}`;
    await expect(refused).rejects.toMatchObject({ code: "overloaded", message: expect.stringContaining(message) });
    this.#limit(NO_LIMIT);
  }

  // --- lookups ---

  #anyEndpoint(): ExpectedEndpoint {
    return this.#random.pick(this.#model.endpoints);
  }

  #isOpen(endpoint: string): boolean {
    return isSentTo(this.#model.endpoints.find(({ id }) => id === endpoint)!);
  }

  #some(wanted: (one: Expected) => boolean): Expected | undefined {
    const all = this.#model.deliveries.filter(wanted);
    return all.length === 0 ? undefined : this.#random.pick(all);
  }

  #ofEvent(event: string): Expected[] {
    return this.#model.endpoints.flatMap(({ id }) => this.#model.of(event, id) ?? []);
  }

  #missing(endpoint: ExpectedEndpoint): Place[] {
    if (!isSentTo(endpoint)) return [];
    return [...this.#model.events.values()]
      .filter((event) => !event.test && !event.erased && endpoint.events.includes(event.type))
      .filter((event) => this.#model.of(event.id, endpoint.id) === undefined)
      .map((event) => ({ event, endpoint }));
  }

  async #idOf({ event, endpoint }: Expected): Promise<string> {
    const view = await this.#store.reads.getEvent(null, event.id);
    return view!.deliveries.find((one) => one.endpoint === endpoint.id)!.id;
  }

  /** Releases these claims from memory. Some are in flight, and end later. */
  #letGo(which: (claim: Claim) => boolean): void {
    for (const claim of this.#loaded.values()) {
      if (!which(claim)) continue;
      const one = this.#model.of(claim.event, claim.endpoint);
      // A fresh delivery that is still pending stays in memory, because only a restart would read it.
      if (one !== undefined && one.status === "pending" && one.fresh) continue;
      this.#loaded.delete(claim.delivery);
      if (one?.status !== "pending" && this.#random.chance(0.5)) this.#stale.push(claim);
    }
  }

  async #whenAllSwept(): Promise<void> {
    for (const { id } of this.#model.endpoints) await this.#whenSwept(id);
  }

  /**
   * Waits until all rows of the endpoint's cancelled deliveries are rewritten. Until then they already count as
   * cancelled.
   */
  async #whenSwept(endpoint: string): Promise<void> {
    while ((await this.#store.deliveries.due(endpoint, BEGINNING, 0, 1)).cancelling === true) {
      // A sweep may wait on the store's clock between its steps.
      if (!this.#harness.takesTurns) this.#harness.clock.advance(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

type Place = Pick<Expected, "event" | "endpoint">;

const placeIn = ({ event, endpoint }: Place): Place => ({ event, endpoint });
const placeText = ({ event, endpoint }: Place) => `${event.id} ${endpoint.id}`;

/** True if the job's action and filter match the delivery, at any endpoint. */
function isMeant(one: Expected, { action, filter }: NewJob): boolean {
  if (one.event.test) return false;
  if (action === "cancel") return one.status === "pending";
  if (!isSentTo(one.endpoint) || one.event.erased) return false;
  if (action === "attempt_now") return isWaiting(one);
  return one.status === (filter.status ?? "failed");
}

function shownAs({ event, endpoint, status, fresh, attempts, trigger }: Expected): string {
  const isTest = event.test && fresh && trigger === "test";
  const isHeld = status === "pending" && !endpoint.enabled && !isTest;
  return `${isHeld ? "held" : status} ${attempts}`;
}

function owedClaim(one: Expected) {
  if (!one.owed || one.fresh || !["pending", "failed"].includes(one.status)) return null;
  const dueAt = one.status === "pending" ? one.dueAt : Number.POSITIVE_INFINITY;
  return { ...claimOf(one), trigger: one.event.test ? "test" : "manual", dueAt, fresh: true };
}
