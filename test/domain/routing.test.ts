import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import type { Filtered } from "../../src/domain/events/filter/filter-index.ts";
import { CompiledFilters } from "../../src/domain/events/filter/compiled.ts";
import { matches } from "../../src/domain/events/filter/evaluate.ts";
import { LongFilters } from "../../src/domain/events/filter/verdicts.ts";
import { IdempotencyMismatch } from "../../src/domain/events/idempotency.ts";
import {
  type Backlog,
  publishing,
  type Capacity,
  countByTenant,
  isShadowed,
  type Remembered,
  recipientsOf,
  route,
  startsAtOnce,
  type Subscriber,
} from "../../src/domain/events/routing.ts";
import { Random } from "../sim/random.ts";
import { DrawnFilters } from "./drawn-filters.ts";
import { fullAt, withCapacity } from "../store/fixtures.ts";

const START = Date.parse("2026-11-20T09:55:00.000Z");

function draft(more: Partial<EventDraft> = {}): EventDraft {
  return { tenant: "default", type: "budget.exceeded", createdAt: START, data: Buffer.from("{}"), ...more };
}

function keyed(key: string, fill = 0, more: Partial<EventDraft> = {}): EventDraft {
  return draft({ idempotency: { key, fingerprint: new Uint8Array(32).fill(fill), expiresAt: START + 1 }, ...more });
}

const ON = { enabled: true, whenDisabled: "hold" } as const;
const most = Array.from({ length: 20_000 }, (_, at) => ({ ...ON, number: at, filter: null }));
const some = new Map<number, typeof most>();
function many(count: number): typeof most {
  if (!some.has(count)) some.set(count, most.slice(0, count));
  return some.get(count)!;
}
const NONE: ReadonlyMap<string, Backlog> = new Map();

function recipients<Endpoint extends Filtered & Subscriber>(
  of: EventDraft,
  endpoints: readonly Endpoint[],
): readonly Endpoint[] {
  const routed = route([of], { recipients: [endpoints], remembered: null, backlogs: NONE });
  if (routed instanceof WebhookdError) throw routed;
  return (routed as readonly { recipients: readonly Endpoint[] }[])[0]!.recipients;
}

/** Returns the same result, however long the filters take. */
function allRecipients<Endpoint extends Filtered & Subscriber>(
  of: EventDraft,
  endpoints: readonly Endpoint[],
): readonly Endpoint[] {
  try {
    return recipients(of, endpoints);
  } catch (error) {
    if (!(error instanceof LongFilters)) throw error;
    const pieces = error.pieces();
    while (pieces.next().done !== true);
    return recipients(of, endpoints);
  }
}

/** A filter that takes about this many looks at `{"x": [1, 1, …]}` with this many items. */
const slow = (at: number, looks: number, items: number) =>
  JSON.stringify({
    data: { x: { $or: Array.from({ length: looks / items }, (_, n) => ({ $gt: 100 + at + n / 100 })) } },
  });
const ones = (items: number) => Buffer.from(JSON.stringify({ x: Array.from({ length: items }, () => 1) }));
const endpointsWith = (count: number, textOf: (at: number) => string | null) => {
  const filters = new CompiledFilters();
  return Array.from({ length: count }, (_, number) => ({ ...ON, number, filter: filters.of(textOf(number)) }));
};

describe("filters of many endpoints", () => {
  it("choose as each of them does alone, in the order of the endpoints", () => {
    const draw = new DrawnFilters(new Random(1));
    const texts = Array.from({ length: 300 }, () => JSON.stringify(draw.filter(2)));
    const some = new Random(2);
    const endpoints = endpointsWith(400, () => (some.chance(0.1) ? null : some.pick(texts)));
    const counts = new Set<number>();
    for (let event = 0; event < 50; event++) {
      const { type, tags, data } = draw.event();
      // A number beyond a double cannot be written again.
      if (JSON.stringify(data).includes("null")) continue;
      const about = draft({ type, data: Buffer.from(JSON.stringify(data)), labels: { publisherId: null, tags } });
      const alone = endpoints.filter(({ filter }) => filter === null || matches(filter, { type, tags, data }));
      const chosen = allRecipients(about, endpoints);
      expect(chosen.map(({ number }) => number)).toEqual(alone.map(({ number }) => number));
      counts.add(chosen.length);
    }
    expect(counts.size).toBeGreaterThan(10);
  });

  it("are looked up by a value that they need, so that 10,000 cost no more looks than a few", () => {
    const endpoints = endpointsWith(10_000, (at) => JSON.stringify({ data: { currency: "EUR", customer: `c${at}` } }));
    const chosen = recipients(draft({ data: Buffer.from('{"currency":"EUR","customer":["c7","c9"]}') }), endpoints);
    expect(chosen.map(({ number }) => number)).toEqual([7, 9]);
    expect(recipients(draft({ data: Buffer.from('{"currency":"EUR"}') }), endpoints)).toEqual([]);
  });

  it("that take long are refused until they were asked in pieces, and then choose at once", () => {
    const endpoints = endpointsWith(10, (at) => (at === 5 ? null : slow(at, 15_000, 1000)));
    const one = draft({ data: ones(1000) });
    const facts = { recipients: [endpoints], remembered: null, backlogs: NONE };
    const refused = route([one], facts);
    expect(refused).toBeInstanceOf(LongFilters);
    const pieces = (refused as LongFilters).pieces();
    let count = 0;
    while (pieces.next().done !== true) count++;
    expect(count).toBeGreaterThan(3);
    expect(count).toBeLessThan(9);
    expect(route([one], facts)).toEqual([{ recipients: [endpoints[5]] }]);
    expect(route([{ ...one }], facts)).toBeInstanceOf(LongFilters);
  });

  it("look at a bounded part of one event together, and let it through after that", () => {
    const endpoints = endpointsWith(200, (at) => slow(at, 16_000, 4000));
    const passed = allRecipients(draft({ data: ones(4000) }), endpoints);
    expect(passed).toEqual(endpoints.slice(-passed.length));
    expect(passed.length).toBeGreaterThan(65);
    expect(passed.length).toBeLessThan(85);
  });

  it("refuse a batch for which all of them would take seconds", async () => {
    const endpoints = endpointsWith(200, (at) => slow(at, 16_000, 4000));
    const drafts = Array.from({ length: 15 }, () => draft({ data: ones(4000) }));
    const facts = { recipients: drafts.map(() => endpoints), remembered: null, backlogs: NONE };
    const published = publishing(() => {
      const routed = route(drafts, facts);
      return routed instanceof WebhookdError ? Promise.reject(routed) : Promise.resolve(routed);
    });
    await expect(published).rejects.toMatchObject({ code: "validation_failed", errors: [{ pointer: "/events" }] });
  });
});

describe("who receives an event", () => {
  it("are the subscribers that are enabled, or hold or shadow what comes while they are disabled", () => {
    const subscribers = [
      { id: 1, enabled: true, whenDisabled: "hold" },
      { id: 2, enabled: true, whenDisabled: "skip" },
      { id: 3, enabled: false, whenDisabled: "hold" },
      { id: 4, enabled: false, whenDisabled: "skip" },
      { id: 5, enabled: true, whenDisabled: "shadow" },
      { id: 6, enabled: false, whenDisabled: "shadow" },
    ] as const;
    expect(recipientsOf(subscribers).map(({ id }) => id)).toEqual([1, 2, 3, 5, 6]);
    expect(subscribers.flatMap((one) => (isShadowed(one, false) ? one.id : []))).toEqual([6]);
    expect(subscribers.some((one) => isShadowed(one, true))).toBe(false);
  });

  it("are those whose filter takes it, and a test goes to its endpoint whatever the filter says", () => {
    const filters = new CompiledFilters();
    const texts = [
      '{"data":{"x":{"$gt":1}}}',
      '{"data":{"x":1}}',
      null,
      '{"data":{"x":{"$gt":1}}}',
      '{"tags":"vip"}',
      "{",
    ];
    const endpoints = texts.map((text, number) => ({ ...ON, number, filter: filters.of(text) }));
    const numbers = (more: Partial<EventDraft>) => recipients(draft(more), endpoints).map(({ number }) => number);
    expect(numbers({ data: Buffer.from('{"x":2}') })).toEqual([0, 2, 3, 5]);
    const labels = { publisherId: null, tags: ["vip"] };
    expect(numbers({ data: Buffer.from('{"x":1}'), labels })).toEqual([1, 2, 4, 5]);
    expect(numbers({ testFor: "ep_1" })).toHaveLength(6);
    expect(endpoints[0]!.filter).toBe(endpoints[3]!.filter);
    const routed = route([draft({ data: Buffer.from('{"x":2}') })], {
      recipients: [endpoints],
      remembered: null,
      backlogs: new Map([["default", { pending: 6, limit: 10 }]]),
    });
    expect(routed).toEqual([{ recipients: [0, 2, 3, 5].map((at) => endpoints[at]) }]);
  });

  it("are all without a filter, and the data is then not read", () => {
    const endpoints = many(3);
    expect(recipients(draft({ data: Buffer.from("not JSON") }), endpoints)).toBe(endpoints);
    const byType = [{ ...ON, filter: new CompiledFilters().of('{"type":"budget.exceeded"}') }];
    expect(recipients(draft({ data: Buffer.from("not JSON") }), byType)).toEqual(byType);
  });

  it("get it at once if they are enabled and have room; a test always goes out", () => {
    const starts = [
      { id: "has", enabled: true },
      { id: "full", enabled: true },
      { id: "has", enabled: false },
    ].map((one) => startsAtOnce(one, false, fullAt(["full"])));
    expect(starts).toEqual([true, false, false]);
    expect(startsAtOnce({ id: "full", enabled: false }, true, fullAt(["full"]))).toBe(true);
  });

  it("have room for 4096 first attempts, or for two rounds while the endpoint is slow, and for 32 in full memory", () => {
    const starts = (window: { firsts?: number; atOnce?: number; loaded?: number }, more: Partial<Capacity> = {}) => {
      const { firsts = 0, atOnce = 16, loaded = 0 } = window;
      const windows = new Map([["ep", { firsts, atOnce, loaded: { size: loaded }, overflows: false }]]);
      return startsAtOnce({ id: "ep", enabled: true }, false, { ...withCapacity, windows, ...more });
    };
    expect([4095, 4096].map((firsts) => starts({ firsts }))).toEqual([true, false]);
    expect([5, 6].map((firsts) => starts({ firsts, atOnce: 3 }))).toEqual([true, false]);
    expect([31, 32].map((loaded) => starts({ loaded, firsts: loaded }, { isFull: true }))).toEqual([true, false]);
    expect(starts({}, { isShut: true }) || starts({}, { damaged: new Set(["ep"]) })).toBe(false);
  });
});

describe("a publish", () => {
  it("may make 20,000 deliveries, and counts only what is new", () => {
    const recipients = [many(20_000), many(1)];
    const known: Remembered<object> = { isSame: true, answer: {} };
    const drafts = [keyed("a"), keyed("b")];
    const both = route(drafts, { recipients, remembered: [null, null], backlogs: NONE });
    expect(both).toMatchObject({ code: "validation_failed", errors: [{ code: "fan_out_too_large" }] });
    for (const remembered of [
      [known, null],
      [null, known],
    ]) {
      expect(route(drafts, { recipients, remembered, backlogs: NONE })).not.toBeInstanceOf(WebhookdError);
    }
  });

  it("is refused as a whole when a key was used for something else, and says which", () => {
    const recipients = [[], [], []];
    const drafts = [draft(), keyed("a", 1), keyed("a", 2)];
    const twice = route(drafts, { recipients, remembered: [null, null, null], backlogs: NONE });
    expect(twice).toBeInstanceOf(IdempotencyMismatch);
    expect(twice).toMatchObject({ index: 2 });
    const before = route(drafts, { recipients, remembered: [null, { isSame: false }, null], backlogs: NONE });
    expect(before).toMatchObject({ code: "idempotency_mismatch", index: 1 });
  });

  it("knows the same key of two tenants apart", () => {
    const drafts = [keyed("a", 1), keyed("a", 2, { tenant: "other" })];
    const recipients = [many(7), many(8)];
    const routed = route(drafts, { recipients, remembered: [null, null], backlogs: NONE });
    expect(routed).toEqual([{ recipients: many(7) }, { recipients: many(8) }]);
  });

  it("leaves tests out of what a tenant may have pending", () => {
    const backlogs = new Map([["default", { pending: 5, limit: 5 }]]);
    const test = draft({ testFor: "ep_1" });
    expect(route([test], { recipients: [many(1)], remembered: null, backlogs })).toEqual([{ recipients: many(1) }]);
    const refused = route([test, draft()], { recipients: [many(1), many(1)], remembered: null, backlogs });
    expect(refused).toMatchObject({ code: "overloaded", retryAfterSeconds: 10 });
  });

  /** The model applies the rule in the slow way, to one draft after another. */
  it("becomes what a model says, for any drafts, keys, endpoints and limits", () => {
    const tenant = fc.constantFrom("default", "other");
    const one = fc.record({
      tenant,
      key: fc.option(fc.constantFrom("a", "b", "c"), { nil: null }),
      fill: fc.integer({ min: 0, max: 1 }),
      isTest: fc.boolean(),
      recipients: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom(9_999, 10_001)),
    });
    const known = fc.dictionary(
      fc.constantFrom("default a", "default b", "other a"),
      fc.record({ fill: fc.integer({ min: 0, max: 1 }), isExpired: fc.boolean() }),
    );
    const backlogs = fc.dictionary(
      tenant,
      fc.record({ pending: fc.integer({ min: 0, max: 6 }), limit: fc.integer({ min: 0, max: 8 }) }),
    );
    fc.assert(
      fc.property(fc.array(one, { maxLength: 6 }), known, backlogs, (asked, before, limits) => {
        const drafts = asked.map(({ tenant: whose, key, fill, isTest }) => {
          const more = { tenant: whose, ...(isTest && { testFor: "ep_1" }) };
          return key === null ? draft(more) : keyed(key, fill, more);
        });
        const recipients = asked.map((each) => many(each.recipients));
        const remembered = asked.map(({ tenant: whose, key, fill }): Remembered<{ of: string }> | null => {
          const found = key === null ? undefined : before[`${whose} ${key}`];
          if (found === undefined || found.isExpired) return null;
          return found.fill === fill ? { isSame: true, answer: { of: `${whose} ${key}` } } : { isSame: false };
        });
        const routed = route(drafts, { recipients, remembered, backlogs: new Map(Object.entries(limits)) });

        const fills = new Map<string, number>();
        const added = { default: 0, other: 0 };
        let deliveries = 0;
        let mismatch: number | null = null;
        for (const [at, { tenant: whose, key, fill, isTest }] of asked.entries()) {
          const name = `${whose} ${key}`;
          const found = key === null ? undefined : before[name];
          const isKnown = found !== undefined && !found.isExpired;
          const earlier = isKnown ? found.fill : key === null ? undefined : fills.get(name);
          if (earlier !== undefined && earlier !== fill) mismatch ??= at;
          if (earlier !== undefined) continue;
          if (key !== null) fills.set(name, fill);
          deliveries += asked[at]!.recipients;
          if (!isTest) added[whose as keyof typeof added] += asked[at]!.recipients;
        }
        const isOver = Object.entries(added).some(([whose, count]) => {
          const { pending, limit } = limits[whose] ?? { pending: 0, limit: 0 };
          return limit > 0 && count > 0 && pending + count > limit;
        });
        if (mismatch !== null) return void expect(routed).toMatchObject({ index: mismatch });
        if (deliveries > 20_000 || isOver) return void expect(routed).toBeInstanceOf(WebhookdError);
        if (routed instanceof WebhookdError) throw routed;
        const isNew = routed.map((each) => "recipients" in each);
        expect(routed.reduce((sum, each) => sum + ("recipients" in each ? each.recipients.length : 0), 0)).toBe(
          deliveries,
        );
        expect(Object.fromEntries([...countByTenant(drafts, routed)].filter(([, count]) => count > 0))).toEqual(
          Object.fromEntries(Object.entries(added).filter(([, count]) => count > 0)),
        );
        for (const [at, each] of routed.entries()) {
          if (!("repeats" in each)) continue;
          const { repeats } = each;
          // A repeat names the answer stored under its own key, or an earlier new draft with the same key.
          if (typeof repeats !== "number") expect(repeats.of).toBe(`${asked[at]!.tenant} ${asked[at]!.key}`);
          else expect([repeats < at, isNew[repeats], asked[repeats]!.key]).toEqual([true, true, asked[at]!.key]);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
