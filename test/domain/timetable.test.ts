import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Timetable, TenantTurns, type Scheduled, type Waiting } from "../../src/domain/time/timetable.ts";

describe("a timetable", () => {
  it("returns its members in the order of their times, even if some left early or were moved", () => {
    const step = fc.record({ id: fc.nat(39), wakeAt: fc.nat(1000), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
        const timetable = new Timetable<Scheduled>();
        const members = Array.from({ length: 40 }, (): Scheduled => ({ wakeAt: 0, heapAt: -1 }));
        const waiting = new Map<Scheduled, number>();
        for (const { id, wakeAt, leaves } of steps) {
          const member = members[id]!;
          if (leaves) {
            waiting.delete(member);
            timetable.remove(member);
          } else {
            waiting.set(member, wakeAt);
            timetable.add(member, wakeAt);
          }
          expect(timetable.wakeAt).toBe(Math.min(...waiting.values()));
        }
        for (const at of [...waiting.values()].sort((a, b) => a - b)) {
          expect(timetable.take(at - 1)).toBeUndefined();
          expect(timetable.take(at)?.wakeAt).toBe(at);
        }
        expect(timetable.take(Number.POSITIVE_INFINITY)).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });
});

describe("turns", () => {
  const shareOf = (weight: number) => ({ weight, ratePerSecond: null, maxPending: null });
  const turns = (weights: Record<string, number> = {}) =>
    new TenantTurns<Waiting>(new Map(Object.entries(weights).map(([tenant, weight]) => [tenant, shareOf(weight)])));
  const taken = (from: TenantTurns<Waiting>, count: number) => Array.from({ length: count }, () => from.take()!.tenant);

  it("go round, however much one tenant has waiting", () => {
    const waiting = turns();
    for (let at = 0; at < 50; at++) waiting.add({ tenant: "flood", cost: 1000 });
    expect(taken(waiting, 10)).toEqual(Array(10).fill("flood"));
    for (const tenant of ["b", "c"]) for (let at = 0; at < 3; at++) waiting.add({ tenant, cost: 1 });
    expect(taken(waiting, 7).filter((tenant) => tenant === "flood").length).toBeLessThanOrEqual(1);
    expect(waiting.size).toBe(39);
  });

  it("give each tenant its weight of what is shared, counted in what it costs", () => {
    const waiting = turns({ heavy: 3 });
    const had = { heavy: 0, large: 0, small: 0 };
    const costs = { heavy: 100, large: 500, small: 10 };
    const add = (tenant: keyof typeof costs) => waiting.add({ tenant, cost: costs[tenant] });
    for (const tenant of ["heavy", "large", "small"] as const) add(tenant);
    for (let at = 0; at < 10_000; at++) {
      const tenant = waiting.take()!.tenant as keyof typeof costs;
      had[tenant] += costs[tenant];
      add(tenant);
    }
    expect(had.heavy / had.small).toBeCloseTo(3, 1);
    expect(had.large / had.small).toBeCloseTo(1, 1);
  });

  it("save nothing up for a tenant that was away", () => {
    const waiting = turns();
    waiting.add({ tenant: "away", cost: 1 });
    waiting.take();
    for (let at = 0; at < 100; at++) waiting.add({ tenant: "busy", cost: 100 });
    taken(waiting, 50);
    for (let at = 0; at < 100; at++) waiting.add({ tenant: "away", cost: 100 });
    const next = taken(waiting, 20);
    expect(next.filter((tenant) => tenant === "away")).toHaveLength(10);
  });

  it("come to what is small before what is large, if neither tenant has had more", () => {
    const waiting = turns();
    waiting.add({ tenant: "flood", cost: 1000 });
    waiting.add({ tenant: "victim", cost: 1 });
    expect(taken(waiting, 2)).toEqual(["victim", "flood"]);
  });

  it("keep the order of one tenant, and take nothing that does not fit", () => {
    const waiting = turns();
    const items = [1, 2, 3].map((cost) => ({ tenant: "a", cost }));
    for (const item of items) waiting.add(item);
    expect(waiting.take()).toBe(items[0]);
    expect(waiting.take(({ cost }) => cost > 2)).toBeUndefined();
    expect([waiting.take(), waiting.take(), waiting.take()]).toEqual([items[1], items[2], undefined]);
  });
});
