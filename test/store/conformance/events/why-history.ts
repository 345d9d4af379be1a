/**
 * Random histories of endpoints and events, in which an oracle notes the truth as it happens: which endpoint was to get
 * which event, and what became of that. It has rules of its own for patterns and filters, and knows nothing of rows.
 */
import { randomBytes } from "node:crypto";
import type { Claim, DeliveryStatus } from "../../../../src/domain/deliveries/delivery.ts";
import { DEFAULT_SETTINGS, WHEN_DISABLED, type WhenDisabled } from "../../../../src/domain/endpoints/endpoint.ts";
import { AFTER_FAILURE, type Blocker, type OrderRules } from "../../../../src/domain/deliveries/ordering.ts";
import type { FilterDocument } from "../../../../src/domain/events/filter/filter.ts";
import { type Reason, reasonOf } from "../../../../src/domain/events/why.ts";
import { newId } from "../../../../src/domain/id.ts";
import type { Store } from "../../../../src/store/store.ts";
import { Random } from "../../../sim/random.ts";
import { answered, BEGINNING, ended, withoutCapacity } from "../../fixtures.ts";
import type { StoreUnderTest } from "../../stores.ts";

const HOUR = 3_600_000;
const TYPES = ["budget.exceeded", "budget.low", "goal.achieved", "invoice.paid"] as const;
const PATTERNS: readonly { readonly name: string; readonly has: (type: string) => boolean }[] = [
  { name: "*", has: () => true },
  { name: "budget.*", has: (type) => type.startsWith("budget.") },
  ...TYPES.map((name) => ({ name, has: (type: string) => type === name })),
];

interface Said {
  readonly type: string;
  readonly amount: number;
  readonly currency: string;
  readonly tags: readonly string[];
}

interface Filter {
  readonly document: FilterDocument | null;
  /** The place in the filter and the value that decided against the event; null if it is taken. */
  readonly refuses: (event: Said) => readonly [pointer: string, found: unknown] | null;
  readonly needsData: boolean;
}

const ANY: Filter = { document: null, refuses: () => null, needsData: false };
const FILTERS: readonly Filter[] = [
  ANY,
  {
    document: { data: { amount: { $gt: 100 } } },
    refuses: ({ amount }) => (amount > 100 ? null : ["/data/amount/$gt", amount]),
    needsData: true,
  },
  {
    document: { data: { amount: { $gt: 100 }, currency: "EUR" } },
    refuses: ({ amount, currency }) =>
      amount <= 100 ? ["/data/amount/$gt", amount] : currency === "EUR" ? null : ["/data/currency", currency],
    needsData: true,
  },
  {
    document: { tags: "vip" },
    // The only item of an array is named itself.
    refuses: ({ tags }) => (tags.includes("vip") ? null : ["/tags", tags.length === 1 ? tags[0] : tags]),
    needsData: true,
  },
  {
    document: { type: { $startsWith: "budget" } },
    refuses: ({ type }) => (type.startsWith("budget") ? null : ["/type/$startsWith", type]),
    needsData: false,
  },
];

interface TrueEndpoint {
  readonly id: string;
  readonly tenant: string;
  readonly registeredAt: number;
  deletedAt: number | null;
  patterns: (typeof PATTERNS)[number][];
  filter: Filter;
  enabled: boolean;
  reason: "gone" | "failing" | null;
  missed: WhenDisabled;
  readonly order: OrderRules;
}

interface TrueDelivery {
  status: DeliveryStatus;
  attempts: number;
  dueAt: number;
  lastAt: number;
  /** True if it is in the line of its event's key. */
  readonly isInLine: boolean;
  /** True if its turn had come when the last step ended. */
  hadTurn: boolean;
  holds: boolean;
}

/** The truth about one event at one endpoint: its delivery, or why it has none. */
type Truth = { readonly delivery: TrueDelivery } | { readonly why: (event: TrueEvent) => object };

interface TrueEvent extends Said {
  readonly id: string;
  readonly tenant: string;
  readonly at: number;
  readonly of: Map<string, Truth>;
  readonly isTest: boolean;
  readonly orderingKey: string | null;
  erasedAt: number | null;
}

export interface Mistake {
  readonly event: string;
  readonly endpoint: string;
  readonly says: unknown;
  readonly is: unknown;
}

export class WhyHistory {
  readonly #harness: StoreUnderTest;
  readonly #random: Random;
  readonly #tenants: readonly string[];
  readonly #endpoints: TrueEndpoint[] = [];
  readonly #events: TrueEvent[] = [];
  /** The events that a pass over old events was allowed to remove. */
  readonly #old = new Set<TrueEvent>();
  /** The answers that occurred. */
  readonly answers = new Set<string>();

  constructor(harness: StoreUnderTest, seed: number) {
    this.#harness = harness;
    this.#random = new Random(seed);
    this.#tenants = [`a${seed}`, `b${seed}`];
  }

  /** Plays the history, and returns where the store's answers differ from the truth. */
  async play(steps: number): Promise<readonly Mistake[]> {
    await this.#register();
    const mistakes: Mistake[] = [];
    for (let at = 0; at < steps; at++) {
      this.#harness.clock.advance(this.#random.pick([0, 0, 0, 1, 1000, HOUR]));
      await this.#step();
      this.#giveTurns();
      if (this.#random.chance(0.1)) mistakes.push(...(await this.#check()));
    }
    return [...mistakes, ...(await this.#check())];
  }

  get #store(): Store {
    return this.#harness.store;
  }

  get #now(): number {
    return this.#harness.clock.now();
  }

  #step(): Promise<void> {
    const steps: readonly (readonly [weight: number, step: () => Promise<void>])[] = [
      [1.5, () => this.#register()],
      [12, () => this.#publish()],
      [1, () => this.#test()],
      [3, () => this.#change((one) => (one.patterns = this.#patterns()))],
      [3, () => this.#change((one) => (one.filter = this.#random.pick(FILTERS)))],
      [4, () => this.#switch()],
      [0.6, () => this.#disable()],
      [0.8, () => this.#delete()],
      [10, () => this.#attempt()],
      [3, () => this.#replay()],
      [1, () => this.#cancel()],
      [1, () => this.#erase()],
      [0.7, () => this.#prune()],
      [0.2, () => this.#harness.reopen().then(() => {})],
    ];
    let roll = this.#random.next() * steps.reduce((sum, [weight]) => sum + weight, 0);
    return (steps.find(([weight]) => (roll -= weight) < 0) ?? steps[0]!)[1]();
  }

  async #register(): Promise<void> {
    const one: TrueEndpoint = {
      id: newId("ep", this.#now, randomBytes(10)),
      tenant: this.#random.chance(0.8) ? this.#tenants[0]! : this.#tenants[1]!,
      registeredAt: this.#now,
      deletedAt: null,
      patterns: this.#patterns(),
      filter: this.#random.chance(0.5) ? ANY : this.#random.pick(FILTERS),
      enabled: this.#random.chance(0.9),
      reason: null,
      missed: this.#random.pick(WHEN_DISABLED),
      order: {
        ordering: this.#random.pick(["none", "by_key", "by_key"] as const),
        afterFailure: this.#random.pick(AFTER_FAILURE),
      },
    };
    const { id, tenant } = one;
    const url = "https://receiver.example/hook";
    const own = { id, tenant, url, signingSecret: "whsec_c2VjcmV0" };
    await this.#store.endpoints.add({ ...DEFAULT_SETTINGS, ...settingsOf(one), ...own }, 1000, this.#now);
    this.#endpoints.push(one);
  }

  async #publish(): Promise<void> {
    const drafts = Array.from({ length: this.#random.between(1, 3) }, () => {
      const tags = this.#random.pick([[], ["vip"], ["new", "vip"], ["new"]]);
      const said: Said = {
        type: this.#random.pick(TYPES),
        amount: this.#random.pick([50, 100, 250]),
        currency: this.#random.pick(["EUR", "USD"]),
        tags,
      };
      const tenant = this.#random.chance(0.8) ? this.#tenants[0]! : this.#tenants[1]!;
      return { said, tenant, orderingKey: this.#random.pick([null, "a", "a", "b"]) };
    });
    const published = await this.#store.events.publish(
      drafts.map(({ said: { type, amount, currency, tags }, tenant, orderingKey }) => ({
        tenant,
        ...(orderingKey !== null && { orderingKey }),
        type,
        createdAt: this.#now,
        data: Buffer.from(JSON.stringify({ amount, currency })),
        ...(tags.length > 0 && { labels: { publisherId: null, tags } }),
      })),
      this.#now,
      withoutCapacity,
    );
    for (const [at, { id }] of published.entries()) {
      const event: TrueEvent = {
        ...drafts[at]!.said,
        ...drafts[at]!,
        id,
        at: this.#now,
        of: new Map(),
        isTest: false,
        erasedAt: null,
      };
      for (const endpoint of this.#endpoints) event.of.set(endpoint.id, truthOf(event, endpoint));
      this.#events.push(event);
    }
  }

  async #test(): Promise<void> {
    const endpoint = this.#anyEndpoint();
    if (endpoint === null) return;
    const { id: testFor, tenant } = endpoint;
    const data = Buffer.from("{}");
    const draft = { tenant, type: "webhookd.test", createdAt: this.#now, data, testFor };
    const [publication] = await this.#store.events.publish([draft], this.#now, withoutCapacity);
    const said = { type: "webhookd.test", amount: 0, currency: "", tags: [] };
    const { id, fresh } = publication!;
    const about = { isTest: true, orderingKey: null, erasedAt: null };
    const event: TrueEvent = { ...said, ...about, id, tenant, at: this.#now, of: new Map() };
    const delivery = newDelivery("pending", this.#now, false);
    for (const other of this.#endpoints)
      event.of.set(
        other.id,
        other.tenant === tenant ? { why: () => ({ code: "test_of_another" }) } : differs(event, other),
      );
    event.of.set(testFor, { delivery });
    this.#events.push(event);
    await this.#record(fresh[0]!, delivery, endpoint, this.#random.chance(0.5) ? "delivered" : "failed");
  }

  async #change(change: (endpoint: TrueEndpoint) => void): Promise<void> {
    const one = this.#anyEndpoint();
    if (one === null) return;
    change(one);
    await this.#update(one);
  }

  async #switch(): Promise<void> {
    const one = this.#anyEndpoint();
    if (one === null) return;
    const held = this.#random.pick(["release", "cancel"] as const);
    const wasEnabled = one.enabled;
    one.enabled = !wasEnabled;
    one.reason = null;
    if (this.#random.chance(0.7)) one.missed = this.#random.pick(WHEN_DISABLED);
    await this.#update(one, held);
    if (wasEnabled || held === "release") return;
    for (const delivery of this.#open(one)) delivery.status = "cancelled";
    await this.#swept(one);
  }

  async #disable(): Promise<void> {
    const one = this.#anyEndpoint();
    if (one === null || !one.enabled) return;
    one.enabled = false;
    one.reason = this.#random.pick(["gone", "failing"]);
    await this.#store.endpoints.disable(one.id, "https://receiver.example/hook", one.reason, this.#now);
  }

  async #delete(): Promise<void> {
    const one = this.#anyEndpoint();
    if (one === null) return;
    one.deletedAt = this.#now;
    await this.#store.endpoints.delete(null, one.id, this.#now);
    for (const { delivery } of this.#deliveries(one)) delivery.holds = false;
    for (const delivery of this.#open(one)) delivery.status = "cancelled";
    await this.#swept(one);
  }

  async #attempt(): Promise<void> {
    const one = this.#anyEndpoint();
    if (one === null || !one.enabled) return;
    const { claims } = await this.#store.deliveries.due(one.id, BEGINNING, this.#now, 3);
    for (const claim of claims) {
      const truth = this.#events.find(({ id }) => id === claim.event)!.of.get(one.id)!;
      const result = this.#random.pick(["delivered", "delivered", "failed", "again"] as const);
      if ("delivery" in truth) await this.#record(claim, truth.delivery, one, result);
    }
  }

  async #record(
    claim: Claim,
    delivery: TrueDelivery,
    { order }: TrueEndpoint,
    result: "delivered" | "failed" | "again",
  ): Promise<void> {
    const dueAt = this.#now + 2 * HOUR;
    const verdict =
      result === "again" ? { status: "pending" as const, retry: claim.retry + 1, dueAt } : { status: result };
    const outcome = answered(result === "delivered" ? 200 : 503);
    await this.#store.deliveries.record([ended(claim, verdict, { startedAt: this.#now, outcome })]);
    delivery.status = result === "again" ? "pending" : result;
    delivery.holds = result === "failed" && delivery.isInLine && order.afterFailure === "hold";
    delivery.attempts++;
    delivery.dueAt = dueAt;
    delivery.lastAt = this.#now + outcome.durationMs;
  }

  async #replay(): Promise<void> {
    const event = this.#anyEvent();
    if (event === null) return;
    const force = this.#random.chance(0.3);
    await this.#store.events.replay(null, event.id, { force }, this.#now);
    if (event.erasedAt !== null) return;
    for (const [id, truth] of event.of) {
      const endpoint = this.#endpoints.find((one) => one.id === id)!;
      if (!("delivery" in truth) || !endpoint.enabled || endpoint.deletedAt !== null) continue;
      const { delivery } = truth;
      if (delivery.status !== "failed" && !(force && delivery.status === "delivered")) continue;
      delivery.status = "pending";
      delivery.dueAt = this.#now;
      delivery.holds = false;
    }
  }

  async #cancel(): Promise<void> {
    const event = this.#anyEvent();
    if (event === null) return;
    await this.#store.events.cancel(null, event.id, null);
    cancelAll(event);
  }

  async #erase(): Promise<void> {
    const event = this.#anyEvent();
    if (event === null) return;
    await this.#store.events.erase(null, event.id, this.#now);
    event.erasedAt ??= this.#now;
    cancelAll(event);
  }

  /** Removes what is old, and then the choices that nobody needs any more. */
  async #prune(): Promise<void> {
    const before = this.#now - this.#random.pick([2, 6, 24]) * HOUR;
    const rules = { delivered: before, failed: before };
    for (const event of this.#events) {
      const deliveries = [...event.of.values()].flatMap((truth) => ("delivery" in truth ? [truth.delivery] : []));
      const last = Math.max(event.at, ...deliveries.map(({ lastAt }) => lastAt));
      if (last < before + HOUR && deliveries.every(({ status }) => status !== "pending")) this.#old.add(event);
    }
    for (let from: string | null = null; ;) {
      ({ next: from } = await this.#store.upkeep.pruneEvents(rules, from));
      if (from === null) break;
    }
    while ((await this.#store.upkeep.pruneChoices()) > 0);
    for (const event of this.#old) {
      if ((await this.#store.reads.getEvent(null, event.id)) !== null) continue;
      for (const truth of event.of.values()) if ("delivery" in truth) truth.delivery.holds = false;
    }
  }

  /** Lets the first of each line be due whose turn has come, and no longer those that it overtook. */
  #giveTurns(): void {
    for (const endpoint of this.#endpoints) {
      for (const { event, delivery } of this.#deliveries(endpoint)) {
        if (!delivery.isInLine || delivery.status !== "pending") continue;
        const hasTurn = this.#behind(event, endpoint) === null;
        if (hasTurn && !delivery.hadTurn && endpoint.enabled) delivery.dueAt = Math.max(delivery.dueAt, this.#now);
        delivery.hadTurn = hasTurn;
      }
    }
  }

  /** Returns what goes before the event in the line of its key, or null if it is its turn. */
  #behind(event: TrueEvent, endpoint: TrueEndpoint): Blocker | null {
    const line = [...this.#deliveries(endpoint)].filter(
      (one) => one.delivery.isInLine && one.event.orderingKey === event.orderingKey,
    );
    const own = line.findIndex((one) => one.event === event);
    const first = line.findIndex(({ delivery }) => delivery.status === "pending");
    const holder = line.findIndex(({ delivery }) => delivery.holds);
    const isHeld = (place: number) => holder !== -1 && holder < place;
    if (own === -1 || (own === first && !isHeld(own))) return null;
    const { event: ahead, delivery } = line[isHeld(first) ? holder : first]!;
    const nextAttemptAt = isHeld(first) ? null : delivery.dueAt;
    return { event: ahead.id, attempts: delivery.attempts, nextAttemptAt, holdsKey: isHeld(first) };
  }

  async #check(): Promise<readonly Mistake[]> {
    const mistakes: Mistake[] = [];
    for (const event of this.#events) {
      for (const endpoint of this.#endpoints) {
        const facts = await this.#store.reads.whyFacts(null, event.id, endpoint.id);
        const is = this.#expected(event, endpoint);
        const says = typeof facts === "string" ? facts : shown(reasonOf(facts, { now: this.#now, halted: null }));
        const isGone = facts === "no_event" && this.#old.has(event);
        if (!isGone && JSON.stringify(says) !== JSON.stringify(is))
          mistakes.push({ event: event.id, endpoint: endpoint.id, says, is });
        this.answers.add(isGone ? "no_event" : (is as { code: string }).code);
      }
    }
    return mistakes;
  }

  #expected(event: TrueEvent, endpoint: TrueEndpoint): object {
    const truth = event.of.get(endpoint.id);
    if (truth === undefined) {
      if (event.tenant !== endpoint.tenant) return differs(event, endpoint).why();
      return event.isTest ? { code: "test_of_another" } : { code: "not_registered", at: endpoint.registeredAt };
    }
    if ("why" in truth) return truth.why(event);
    const { status, attempts, dueAt, lastAt } = truth.delivery;
    const last = attempts === 0 ? null : { error: status === "delivered" ? null : "http_status", statusCode: 503 };
    if (status === "shadowed") return { code: "shadowed" };
    if (status === "delivered") return { code: "delivered", at: lastAt, attempts, statusCode: 200 };
    if (status === "failed") return { code: "failed", at: lastAt, attempts, last };
    if (status === "cancelled" && event.erasedAt !== null) return { code: "erased", at: event.erasedAt, attempts };
    if (status === "cancelled") return { code: "cancelled", attempts, deletedAt: endpoint.deletedAt };
    if (!endpoint.enabled) return { code: "held", attempts };
    const behind = this.#behind(event, endpoint);
    if (behind !== null) return { code: "behind", ...behind };
    // A replay keeps the attempts before it.
    return dueAt > this.#now ? { code: "retrying", at: dueAt, attempts, last } : { code: "waiting", at: dueAt };
  }

  async #update(one: TrueEndpoint, held: "release" | "cancel" = "release"): Promise<void> {
    await this.#store.endpoints.update(null, one.id, (all) => ({ ...all, ...settingsOf(one) }), this.#now, held);
  }

  /** A sweep goes on in the background, and replays wait for its end. */
  async #swept({ id }: TrueEndpoint): Promise<void> {
    this.#harness.clock.advance(1000);
    while ((await this.#store.deliveries.due(id, BEGINNING, 0, 1)).cancelling === true) {
      this.#harness.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  *#open(endpoint: TrueEndpoint): Generator<TrueDelivery> {
    for (const { delivery } of this.#deliveries(endpoint)) if (delivery.status === "pending") yield delivery;
  }

  /** In the order in which they were published. */
  *#deliveries({ id }: TrueEndpoint): Generator<{ readonly event: TrueEvent; readonly delivery: TrueDelivery }> {
    for (const event of this.#events) {
      const truth = event.of.get(id);
      if (truth !== undefined && "delivery" in truth) yield { event, delivery: truth.delivery };
    }
  }

  #anyEndpoint(): TrueEndpoint | null {
    const there = this.#endpoints.filter(({ deletedAt }) => deletedAt === null);
    return there.length === 0 ? null : this.#random.pick(there);
  }

  /** One that cannot have been removed. */
  #anyEvent(): TrueEvent | null {
    const there = this.#events.filter((event) => !this.#old.has(event));
    return there.length === 0 ? null : this.#random.pick(there);
  }

  #patterns() {
    const some = PATTERNS.filter(() => this.#random.chance(0.3));
    return some.length > 0 ? some : [this.#random.pick(PATTERNS)];
  }
}

function settingsOf({ patterns, filter, enabled, missed, order }: TrueEndpoint) {
  return {
    ...order,
    events: patterns.map(({ name }) => name),
    filter: filter.document,
    enabled,
    whenDisabled: missed,
  };
}

function newDelivery(status: DeliveryStatus, dueAt: number, isInLine: boolean): TrueDelivery {
  return { status, attempts: 0, dueAt, lastAt: 0, isInLine, hadTurn: false, holds: false };
}

function truthOf(event: TrueEvent, endpoint: TrueEndpoint): Truth {
  const { patterns, filter, enabled, missed, reason, deletedAt } = endpoint;
  if (event.tenant !== endpoint.tenant) return differs(event, endpoint);
  if (deletedAt !== null) return { why: () => ({ code: "deleted", at: deletedAt }) };
  const { type } = event;
  if (!patterns.some(({ has }) => has(type))) {
    const events = patterns.map(({ name }) => name);
    return { why: () => ({ code: "not_subscribed", type, events }) };
  }
  if (!enabled && missed === "skip") return { why: () => ({ code: "skipped", disabledReason: reason }) };
  const refused = filter.refuses(event);
  const status = !enabled && missed === "shadow" ? "shadowed" : "pending";
  const isInLine = endpoint.order.ordering === "by_key" && event.orderingKey !== null && status === "pending";
  if (refused === null) return { delivery: newDelivery(status, event.at, isInLine) };
  const [pointer, found] = refused;
  return {
    why: ({ erasedAt }) => {
      const isLost = erasedAt !== null && filter.needsData;
      return { code: "filtered", decided: isLost ? null : [{ pointer, found }], erasedAt };
    },
  };
}

function differs(event: TrueEvent, endpoint: TrueEndpoint) {
  return { why: () => ({ code: "tenant_differs", event: event.tenant, endpoint: endpoint.tenant }) };
}

function cancelAll({ of }: TrueEvent): void {
  for (const truth of of.values()) {
    if (!("delivery" in truth) || (truth.delivery.status !== "pending" && !truth.delivery.holds)) continue;
    truth.delivery.status = "cancelled";
    truth.delivery.holds = false;
  }
}

/** The part of a reason that the oracle knows. */
function shown(reason: Reason): object {
  switch (reason.code) {
    case "waiting":
      return { code: reason.code, at: reason.at };
    case "not_subscribed":
      return { code: reason.code, type: reason.type, events: reason.choice.events };
    case "skipped":
      return { code: reason.code, disabledReason: reason.choice.disabledReason };
    case "filtered": {
      const decided = reason.decided?.map(({ pointer, found }) => ({ pointer, found })) ?? null;
      return { code: reason.code, decided, erasedAt: reason.erasedAt };
    }
    default:
      return reason;
  }
}
