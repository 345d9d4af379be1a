import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Timetable, type Scheduled } from "../../src/domain/time/timetable.ts";

describe("a timetable", () => {
  it("gives its members in the order of their times, whoever left early or was moved", () => {
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
