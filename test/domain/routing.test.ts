import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { CompiledFilters } from "../../src/domain/events/filter/compiled.ts";
import { IdempotencyMismatch } from "../../src/domain/events/idempotency.ts";
import {
  type Backlog,
  countByTenant,
  type Remembered,
  recipientsOf,
  route,
  startsAtOnce,
  filteredRecipients,
} from "../../src/domain/events/routing.ts";

const START = Date.parse("2026-11-20T09:55:00.000Z");

function draft(more: Partial<EventDraft> = {}): EventDraft {
  return { tenant: "default", type: "budget.exceeded", createdAt: START, data: Buffer.from("{}"), ...more };
}

function keyed(key: string, fill = 0, more: Partial<EventDraft> = {}): EventDraft {
  return draft({ idempotency: { key, fingerprint: new Uint8Array(32).fill(fill), expiresAt: START + 1 }, ...more });
}

const most = Array.from({ length: 20_000 }, (_, at) => ({ number: at, filter: null }));
const some = new Map<number, typeof most>();
function many(count: number): typeof most {
  if (!some.has(count)) some.set(count, most.slice(0, count));
  return some.get(count)!;
}
const NONE: ReadonlyMap<string, Backlog> = new Map();

describe("who receives an event", () => {
  it("are the subscribers that are enabled, or hold what comes while they are disabled", () => {
    const subscribers = [
      { id: 1, enabled: true, whenDisabled: "hold" },
      { id: 2, enabled: true, whenDisabled: "skip" },
      { id: 3, enabled: false, whenDisabled: "hold" },
      { id: 4, enabled: false, whenDisabled: "skip" },
    ] as const;
    expect(recipientsOf(subscribers).map(({ id }) => id)).toEqual([1, 2, 3]);
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
    const endpoints = texts.map((text, number) => ({ number, filter: filters.of(text) }));
    const numbers = (more: Partial<EventDraft>) =>
      filteredRecipients(draft(more), endpoints).map(({ number }) => number);
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
    expect(filteredRecipients(draft({ data: Buffer.from("not JSON") }), endpoints)).toBe(endpoints);
    const byType = [{ filter: new CompiledFilters().of('{"type":"budget.exceeded"}') }];
    expect(filteredRecipients(draft({ data: Buffer.from("not JSON") }), byType)).toEqual(byType);
  });

  it("get it at once if they are enabled and have room; a test always goes out", () => {
    const asked: string[] = [];
    const hasCapacity = (id: string) => asked.push(id) > 0 && id === "has";
    const enabled = (id: string) => ({ id, enabled: true });
    const starts = [enabled("has"), enabled("full"), { id: "has", enabled: false }].map((one) =>
      startsAtOnce(one, false, hasCapacity),
    );
    expect({ starts, asked }).toEqual({ starts: [true, false, false], asked: ["has", "full"] });
    expect(startsAtOnce({ id: "full", enabled: false }, true, hasCapacity)).toBe(true);
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

  /** The model applies the rule in the slow way, to one draft after the other. */
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
