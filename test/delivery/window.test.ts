import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Window } from "../../src/delivery/memory/windows.ts";
import type { Claim, Position } from "../../src/domain/deliveries/delivery.ts";
import type { DuePage } from "../../src/store/store.ts";

const ENDPOINT = "ep_1";

function claimAt({ dueAt, event, fresh }: Row): Claim {
  return {
    event,
    delivery: `dlv_${event}`,
    endpoint: ENDPOINT,
    body: new Uint8Array(0),
    number: fresh ? 1 : 2,
    round: 1,
    retry: fresh ? 0 : 1,
    trigger: "ladder",
    dueAt,
    fresh,
  };
}

interface Row extends Position {
  /** True if the delivery was never attempted. */
  readonly fresh: boolean;
}

/** The simplest model of the store: waiting deliveries by event, read in order of (due, event). */
class Disk {
  readonly waiting = new Map<string, Row>();

  due(after: Position, until: number, limit: number): DuePage {
    const rows = this.#after(after);
    const due = rows.filter((row) => row.dueAt <= until).slice(0, limit);
    return { claims: due.map(claimAt), nextDueAt: rows[due.length]?.dueAt ?? null };
  }

  /** Examines up to two rows more than `limit`. */
  dueFirst(after: Position, until: number, limit: number): DuePage {
    const due = this.#after(after).filter((row) => row.dueAt <= until);
    const seen = due.slice(0, limit + 2);
    const found = seen.filter(({ fresh }) => fresh).slice(0, limit);
    const last = found.length === limit ? found.at(-1)! : seen.at(-1);
    return { claims: found.map(claimAt), nextDueAt: null, reached: last === due.at(-1) ? null : last! };
  }

  #after(after: Position): Row[] {
    return [...this.waiting.values()]
      .filter((row) => row.dueAt > after.dueAt || (row.dueAt === after.dueAt && row.event > after.event))
      .sort((a, b) => a.dueAt - b.dueAt || (a.event < b.event ? -1 : 1));
  }
}

type Step =
  | { kind: "commit"; event: number; delay: number }
  | { kind: "beginRead"; limit: number; ahead: boolean }
  | { kind: "endRead" }
  | { kind: "finish"; pick: number; retryIn: number | null }
  | { kind: "time"; by: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("commit" as const), event: fc.nat(5), delay: fc.integer({ min: -20, max: 10 }) }),
  fc.record({
    kind: fc.constant("beginRead" as const),
    limit: fc.integer({ min: 1, max: 6 }),
    ahead: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("endRead" as const) }),
  fc.record({
    kind: fc.constant("finish" as const),
    pick: fc.nat(5),
    retryIn: fc.option(fc.integer({ min: 0, max: 20 }), { nil: null }),
  }),
  fc.record({ kind: fc.constant("time" as const), by: fc.integer({ min: -10, max: 10 }) }),
);

describe("a window's horizon", () => {
  it("never leaves a waiting delivery behind, nor takes one in that has ended, whatever is committed meanwhile", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const disk = new Disk();
        const window = new Window(ENDPOINT);
        // The timetable would set this.
        window.heapAt = 0;
        let now = 100;
        let read: { page: DuePage; until: number; limit: number } | null = null;

        const commit = (event: string, dueAt: number, fresh: boolean) => {
          if (fresh) window.overflow();
          disk.waiting.set(event, { event, dueAt, fresh });
          window.noteWaiting({ event, dueAt });
        };
        const beginRead = (limit: number, ahead = false) => {
          if (read !== null) return;
          const after = window.beginRead(ahead);
          const page = ahead ? disk.dueFirst(after, now, limit) : disk.due(after, now, limit);
          read = { page, until: now, limit };
        };
        const endRead = () => {
          if (read === null) return;
          for (const claim of window.endRead(read.page, read.until, read.limit)) {
            expect(disk.waiting.has(claim.event), `${claim.event} had ended`).toBe(true);
          }
          read = null;
        };

        for (const action of steps) {
          if (action.kind === "time") now += action.by;
          else if (action.kind === "beginRead") beginRead(action.limit, action.ahead);
          else if (action.kind === "endRead") endRead();
          else if (action.kind === "commit") {
            const event = `evt_${String(action.event).padStart(2, "0")}`;
            if (!disk.waiting.has(event)) commit(event, now + action.delay, true);
          } else {
            const claim = [...window.loaded.values()][action.pick % Math.max(1, window.loaded.size)];
            if (claim === undefined) continue;
            disk.waiting.delete(claim.event);
            window.release(claim.delivery);
            if (action.retryIn !== null) commit(claim.event, now + action.retryIn, false);
          }
          expect(window.firsts).toBe([...window.loaded.values()].filter(({ fresh }) => fresh).length);
          for (const [event, { dueAt }] of disk.waiting) {
            const owed = { endpoint: ENDPOINT, event, delivery: `dlv_${event}`, dueAt };
            expect(read === null && window.misses(owed), `${event} is lost`).toBe(false);
          }
        }

        endRead();
        now = 10_000;
        for (let reads = 0; window.nextDueAt <= now && reads < 200; reads++) {
          beginRead(4);
          endRead();
        }
        expect([...window.loaded.keys()].sort()).toEqual(
          [...disk.waiting.keys()].map((event) => `dlv_${event}`).sort(),
        );
      }),
      { numRuns: 2000 },
    );
  });
});
