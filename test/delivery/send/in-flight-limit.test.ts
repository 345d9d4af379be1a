import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InFlightLimit } from "../../../src/delivery/send/destinations.ts";
import { openFilesFor, connectionBudget } from "../../../src/domain/files.ts";

describe("how many attempts may be in flight", () => {
  it("is what got through at a shortage, and twice as many with each second, up to what there was", () => {
    const limit = new InFlightLimit(() => 100, 0);
    expect([limit.at(0), limit.growsAt]).toEqual([100, Infinity]);
    limit.short(20, 500);
    expect([limit.at(500), limit.growsAt]).toEqual([20, 1500]);
    expect([limit.at(1499), limit.at(1500), limit.at(2500), limit.at(3500)]).toEqual([20, 40, 80, 100]);
    expect(limit.growsAt).toBe(Infinity);
  });

  it("is none for a second when not even one got through, then one", () => {
    const limit = new InFlightLimit(() => 100, 0);
    limit.short(3, 0);
    limit.short(0, 10);
    expect([limit.at(10), limit.at(1010), limit.at(2010)]).toEqual([0, 1, 2]);
  });

  it("follows the capacity, within ten seconds", () => {
    let capacity = 100;
    const limit = new InFlightLimit(() => capacity, 0);
    capacity = 10;
    expect([limit.at(9999), limit.at(10_000)]).toEqual([100, 10]);
    capacity = 1000;
    expect([limit.at(19_999), limit.at(20_000)]).toEqual([10, 1000]);
  });
});

describe("the limit of open files leaves room", () => {
  it("for the process and its clients, and for connections at rest", () => {
    expect(connectionBudget(64)).toEqual({ inFlight: 9, resting: 3 });
    expect(connectionBudget(1024)).toEqual({ inFlight: 585, resting: 147 });
    expect(connectionBudget(65_536).inFlight).toBeGreaterThan(4096);
    expect(connectionBudget(null)).toEqual({ inFlight: Infinity, resting: Infinity });
    expect(connectionBudget(10).inFlight).toBe(1);
  });

  it("for as many attempts as it is said to be enough for", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (attempts) => {
        const files = openFilesFor(attempts);
        const { inFlight, resting } = connectionBudget(files);
        expect(inFlight).toBeGreaterThanOrEqual(attempts);
        expect(inFlight + resting).toBeLessThan(files);
        expect(connectionBudget(files - 3).inFlight).toBeLessThanOrEqual(attempts);
      }),
    );
  });
});
