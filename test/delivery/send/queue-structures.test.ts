import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fifo } from "../../../src/delivery/send/endpoint-queue.ts";
import { Ring, type Member } from "../../../src/delivery/send/fair-queue.ts";

describe("a fifo", () => {
  it("gives items back in the order in which they came, through growth, emptiness and draining", () => {
    const step = fc.oneof(
      { arbitrary: fc.record({ push: fc.integer({ min: 1, max: 150 }) }), weight: 4 },
      { arbitrary: fc.record({ shift: fc.integer({ min: 1, max: 150 }) }), weight: 4 },
      { arbitrary: fc.constant("drain" as const), weight: 1 },
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const fifo = new Fifo<number>();
        const expected: number[] = [];
        let serial = 0;
        for (const step of steps) {
          if (step === "drain") expect(fifo.drain()).toEqual(expected.splice(0));
          else if ("push" in step) {
            for (let i = 0; i < step.push; i++) {
              fifo.push(++serial);
              expected.push(serial);
            }
          } else for (let i = 0; i < step.shift; i++) expect(fifo.shift()).toBe(expected.shift());
          expect(fifo.size).toBe(expected.length);
        }
        expect(fifo.drain()).toEqual(expected);
      }),
    );
  });
});

interface Bead extends Member<Bead> {
  readonly id: number;
}

describe("a ring", () => {
  it("keeps its members in order while any of them leave", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9)), (toggles) => {
        const ring = new Ring<Bead>();
        const beads = Array.from({ length: 10 }, (_, id): Bead => ({ id, ring: null, previous: null, next: null }));
        let expected: Bead[] = [];
        for (const id of toggles) {
          const bead = beads[id]!;
          if (bead.ring === ring) ring.remove(bead);
          else ring.push(bead);
          expected = expected.includes(bead) ? expected.filter((other) => other !== bead) : [...expected, bead];
          expect(ring.size).toBe(expected.length);
          const ids: number[] = [];
          for (let one = ring.first; one !== null; one = one.next) ids.push(one.id);
          expect(ids).toEqual(expected.map((one) => one.id));
        }
      }),
    );
  });
});
