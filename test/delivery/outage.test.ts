import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Outage, Shortage } from "../../src/delivery/memory/halts.ts";
import { Reachability } from "../../src/delivery/memory/reachability.ts";
import { noResponse } from "../../src/domain/deliveries/attempt.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";

const LIMIT = 10_000;

describe("an outage", () => {
  it("is found when three hosts gave no sign for 10 s, and ends at the first sign of anybody", () => {
    const outage = new Outage(LIMIT);
    outage.sign(null, 500);
    for (const [at, host] of ["a", "b", "c"].entries()) outage.noSign(host, 1000 + at, 1100 + at);
    expect(outage.look(10_999)).toBe("open");
    expect(outage.look(11_000)).toBe("out");
    expect(outage.look(60_000)).toBe("out");
    outage.sign("d", 60_001);
    expect(outage.look(60_001)).toBe("clear");
    expect([outage.wasOutAt(60_000), outage.wasOutAt(60_001)]).toEqual([true, false]);
  });

  it("is none of two hosts, however often and long: their failures are their own", () => {
    const outage = new Outage(LIMIT);
    for (let at = 0; at < 5; at++) for (const host of ["a", "b"]) outage.noSign(host, 1000 * at, 1000 * at + 10);
    expect(outage.look(10_000)).toBe("open");
    expect(outage.look(11_000)).toBe("clear");
  });

  it("is none while one host answers, whatever the others do", () => {
    const outage = new Outage(LIMIT);
    for (let at = 0; at < 100_000; at += 1000) {
      for (const host of ["a", "b", "c", "d"]) outage.noSign(host, at - 5000, at);
      expect(outage.look(at)).toBe("open");
      outage.sign("e", at + 1);
      expect(outage.look(at + 1)).toBe("clear");
    }
  });

  it("is not ended by a sign from before it that arrives later", () => {
    const outage = new Outage(LIMIT);
    for (const host of ["a", "b", "c"]) outage.noSign(host, 1000, 1001);
    outage.sign("d", 900);
    expect(outage.look(11_000)).toBe("out");
  });

  it("is not proven by hosts that were silent while others were not: the dead come to the end of their ladders", () => {
    const outage = new Outage(LIMIT);
    const dead = ["a", "b", "c"];
    for (const host of dead) outage.noSign(host, 0, LIMIT);
    outage.sign("d", LIMIT);
    for (let at = 40_000; at < 200_000; at += 40_000) {
      for (const host of dead) outage.noSign(host, at - LIMIT, at);
      expect(outage.look(at + 1000)).toBe("clear");
    }
    // A host that responded again may prove an outage again, and so may hosts that were never silent.
    outage.sign("a", 200_000);
    for (const host of ["a", "e", "f"]) outage.noSign(host, 210_000, 220_000);
    expect(outage.look(220_000)).toBe("out");
  });

  it("is found at once, of one host, when this host itself says that it is cut off", () => {
    const outage = new Outage(LIMIT);
    outage.noSign("a", 1000, 1001);
    outage.cutOff("a");
    expect(outage.look(1001)).toBe("out");
    outage.sign("a", 2000);
    expect(outage.reach).toBe("clear");
  });

  it("is not believed for 5 s after a sign of another host, and never because of a host whose own network is missing", () => {
    const outage = new Outage(LIMIT);
    outage.sign("b", 1000);
    outage.noSign("a", 1001, 1002);
    outage.cutOff("a");
    expect([outage.look(5999), outage.decidesAt]).toEqual(["open", 6000]);
    expect(outage.look(6000)).toBe("out");
    outage.sign("b", 6500);
    // Other hosts responded in the meantime, so this host has a fault of its own until it responds again.
    outage.noSign("a", 20_000, 20_001);
    outage.cutOff("a");
    expect(outage.look(20_001)).toBe("open");
    expect(outage.look(31_001)).toBe("clear");
    outage.sign("a", 40_000);
    outage.noSign("a", 50_000, 50_001);
    outage.cutOff("a");
    expect(outage.look(50_001)).toBe("out");
  });

  it("is found only after 10 s without a sign of anybody, at three hosts or more, and decides within 11 s", () => {
    const host = fc.constantFrom("a", "b", "c", "d", "e");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("sign" as const), host, ago: fc.integer({ min: 0, max: 3000 }) }),
      fc.record({ kind: fc.constant("noSign" as const), host, took: fc.integer({ min: 0, max: LIMIT }) }),
      fc.record({ kind: fc.constant("noSign" as const), host, took: fc.integer({ min: 0, max: LIMIT }) }),
      fc.record({ kind: fc.constant("time" as const), by: fc.integer({ min: 0, max: 6000 }) }),
    );
    let found = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const outage = new Outage(LIMIT);
        let now = 100_000;
        let lastSign = Number.NEGATIVE_INFINITY;
        let failures: { host: string; at: number }[] = [];
        let openSince: number | null = null;
        for (const action of steps) {
          const before = outage.reach;
          if (action.kind === "time") now += action.by;
          else if (action.kind === "sign") {
            const at = now - action.ago;
            outage.sign(action.host, at);
            lastSign = Math.max(lastSign, at);
            if (at === now && before === "out") expect(outage.reach).toBe(at > outage.since ? "clear" : "out");
          } else {
            outage.noSign(action.host, now - action.took, now);
            failures.push({ host: action.host, at: now });
          }
          const reach = outage.look(now);
          if (reach === "out" && before !== "out") {
            found++;
            expect(now - lastSign).toBeGreaterThanOrEqual(LIMIT);
            const hosts = failures.filter(({ at }) => at >= lastSign).map((failure) => failure.host);
            expect(new Set(hosts).size).toBeGreaterThanOrEqual(3);
          }
          if (reach !== "open") openSince = null;
          else openSince ??= now;
          if (reach === "open") {
            expect(outage.decidesAt).toBeGreaterThan(now);
            expect(outage.decidesAt - openSince!).toBeLessThanOrEqual(1.1 * LIMIT);
          }
          if (reach === "clear") failures = failures.filter(({ at }) => at >= now);
        }
      }),
      { numRuns: 2000 },
    );
    expect(found).toBeGreaterThan(20);
  });
});

it("deliveries that wait for a shortage to end are sent again, however late the process wakes up", () => {
  for (const wokenAt of [1000, 2000, 3000, 60_000]) {
    const shortage = new Shortage();
    const claim = { delivery: "dlv_1" } as Claim;
    shortage.wait(claim, "no file descriptors left", { wall: 0, monotonic: 0 });
    expect(shortage.timePassed(wokenAt).again, `woken at ${wokenAt}`).toEqual([claim]);
  }
});

it("attempts that wait for the resolvers to be asked are recorded when the daemon stops", () => {
  const reachability = new Reachability(LIMIT);
  const claim = { delivery: "dlv_1" } as Claim;
  const outcome = noResponse("timeout", "no address", LIMIT, { evidence: "no_look_up" });
  const ended = { delivery: "dlv_1", endpoint: "ep_a", url: "https://a.example", startedAt: 0, outcome };
  const each = { claim, ended: { ...ended, secretVersion: null }, endedAt: LIMIT };
  expect(reachability.ended([each], LIMIT)).toMatchObject({ record: [], askResolvers: true });
  expect(reachability.stop().record).toEqual([each]);
});
