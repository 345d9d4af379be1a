import { describe, expect, it } from "vitest";
import { HorizonSweep } from "../../src/delivery/horizon-sweep.ts";
import { Endpoints } from "../../src/delivery/memory/endpoints.ts";
import { Windows } from "../../src/delivery/memory/windows.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";
import type { Target } from "../../src/domain/endpoints/endpoint.ts";
import { silentLog } from "../../src/log.ts";
import type { PendingDelivery, Waiting } from "../../src/store/store.ts";
import { ManualClock } from "../harness/clock.ts";
import { claim } from "../harness/egress.ts";

const NOW = 1000;

/**
 * The pending deliveries of a store, as two lists, and the largest number of rows read in one turn of the event loop.
 */
class Disk {
  waitingRows: PendingDelivery[] = [];
  freshRows: PendingDelivery[] = [];
  mostInATurn = 0;
  #inThisTurn = 0;

  readonly deliveries = {
    earliestDue: async (after: string | null, limit: number) => {
      const earliest = new Map<string, number>();
      for (const { endpoint, dueAt } of this.#sorted()) if (!earliest.has(endpoint)) earliest.set(endpoint, dueAt);
      const page = [...earliest].filter(([endpoint]) => after === null || endpoint > after).slice(0, limit);
      this.#count(page.length);
      return new Map(page);
    },
    waiting: async (endpoint: string, after: { dueAt: number; event: string }, limit: number) => {
      const rows = this.#sorted().filter(
        (row) =>
          row.endpoint === endpoint &&
          (row.dueAt > after.dueAt || (row.dueAt === after.dueAt && row.event > after.event)),
      );
      this.#count(Math.min(rows.length, limit));
      return rows.slice(0, limit);
    },
    fresh: async (after: PendingDelivery | null, limit: number) => {
      const from = after === null ? 0 : this.freshRows.findIndex(({ delivery }) => delivery === after.delivery) + 1;
      this.#count(limit);
      return this.freshRows.slice(from, from + limit);
    },
    requestedAttempts: async () => [],
    park: async (deliveries: readonly Waiting[]) => {
      const parked = this.freshRows.filter(({ event }) => deliveries.some((one) => one.event === event));
      this.freshRows = this.freshRows.filter((row) => !parked.includes(row));
      this.waitingRows.push(...parked);
      return parked;
    },
  };

  turn(): void {
    this.#inThisTurn = 0;
  }

  #count(rows: number): void {
    this.#inThisTurn += rows;
    this.mostInATurn = Math.max(this.mostInATurn, this.#inThisTurn);
  }

  #sorted(): PendingDelivery[] {
    return this.waitingRows.toSorted(
      (a, b) => order(a.endpoint, b.endpoint) || a.dueAt - b.dueAt || order(a.event, b.event),
    );
  }
}

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function pending(place: number, dueAt: number, endpoint = "ep_1"): PendingDelivery {
  const event = `evt_${String(place).padStart(6, "0")}`;
  return { endpoint, event, delivery: `dlv_${place}`, dueAt };
}

const claimOf = (row: PendingDelivery): Claim => claim({ ...row, fresh: false });

/** Sets the horizon to `NOW`. Memory holds the deliveries due by then, as after a read. */
function setUp(rows: readonly PendingDelivery[]) {
  const disk = new Disk();
  const windows = new Windows(Number.POSITIVE_INFINITY, () => 16);
  const clock = new ManualClock();
  const alarms: object[] = [];
  const warnings: object[] = [];
  const disabled = new Set<string>();
  const doubt = { isOpen: false, madeLate: 0 };
  disk.waitingRows.push(...rows);
  for (const endpoint of new Set(rows.map((row) => row.endpoint))) {
    const window = windows.of(endpoint);
    const mine = rows.filter((row) => row.endpoint === endpoint).toSorted((a, b) => a.dueAt - b.dueAt);
    const claims = mine.filter(({ dueAt }) => dueAt <= NOW).map(claimOf);
    const nextDueAt = mine.find(({ dueAt }) => dueAt > NOW)?.dueAt ?? null;
    window.beginRead();
    windows.endRead(window, { claims, nextDueAt }, NOW, claims.length + 1);
  }
  let repaired = 0;
  const sweep = new HorizonSweep({
    store: {
      deliveries: disk.deliveries,
      endpoints: { target: async (endpoint) => ({ enabled: !disabled.has(endpoint) }) as Target },
      recovery: { doubt },
    },
    memory: {
      windows,
      endpoints: new Endpoints(),
      manual: { add() {} },
      ownEndpoints: () => windows.endpoints(),
    },
    clock: {
      ...clock,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      uptime: () => clock.uptime(),
      after: (delay, run) => clock.after(delay, run),
      nextTurn: (run) =>
        setImmediate(() => {
          disk.turn();
          run();
        }),
    },
    log: { ...silentLog, error: (fields) => alarms.push(fields), warn: (fields) => warnings.push(fields) },
  });
  /** `meanwhile` runs between the two checks of the sweep. */
  const run = async (meanwhile = () => {}) => {
    const running = sweep.run();
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
    meanwhile();
    clock.advance(1000);
    for (const endpoint of await running) {
      repaired++;
      windows.plan(windows.of(endpoint));
    }
  };
  return { disk, windows, sweep, alarms, warnings, disabled, doubt, run, repaired: () => repaired };
}

/** Reads each due window as the dispatcher does, and returns the deliveries that it would send. */
async function readAgain({ disk, windows }: ReturnType<typeof setUp>, now = NOW): Promise<string[]> {
  const read: string[] = [];
  for (let window = windows.takeDue(now); window !== undefined; window = windows.takeDue(now)) {
    const rows = await disk.deliveries.waiting(window.endpoint, window.beginRead(), 1000);
    const due = rows.filter(({ dueAt }) => dueAt <= now);
    const nextDueAt = rows.find(({ dueAt }) => dueAt > now)?.dueAt ?? null;
    read.push(
      ...windows.endRead(window, { claims: due.map(claimOf), nextDueAt }, now, 1000).map((one) => one.delivery),
    );
  }
  return read;
}

describe("the sweep", () => {
  it("finds nothing where memory holds what is due and will read what is not", async () => {
    const world = setUp([
      pending(1, 900),
      pending(2, 1000),
      pending(3, 5000),
      pending(4, 7000),
      pending(5, 9000, "ep_2"),
    ]);
    world.disk.freshRows.push(pending(6, 950));
    world.windows.load(claim({ ...pending(6, 950), fresh: true }));
    await world.run();
    expect(world.sweep.found).toBe(0);
    expect(world.alarms).toEqual([]);
  });

  it("finds a delivery at or below the horizon that memory does not hold, says so once, and has it sent", async () => {
    const world = setUp([pending(1, 900), pending(2, 5000)]);
    world.disk.waitingRows.push(pending(7, 950), pending(8, 800));
    await world.run();
    expect(world.sweep.found).toBe(2);
    const window = { next_due_at: 5000, is_planned: true, loaded: 1, overflows: false };
    expect(world.alarms).toEqual([
      { deliveries: 2, fresh: 0, endpoints: 1, first: "dlv_8", first_due_at: 800, ...window },
    ]);
    expect(world.repaired()).toBe(1);
    expect(await readAgain(world)).toEqual(["dlv_8", "dlv_7"]);
    await world.run();
    expect(world.sweep.found).toBe(2);
  });

  it("finds a delivery above the horizon that nobody will read when it falls due", async () => {
    const world = setUp([pending(1, 5000)]);
    world.disk.waitingRows.push(pending(2, 4000), pending(3, 3000, "ep_unknown"));
    await world.run();
    expect(world.sweep.found).toBe(2);
    expect(await readAgain(world, 4500)).toEqual(["dlv_3", "dlv_2"]);
  });

  it("finds a window that is due and that nobody has planned to read", async () => {
    const world = setUp([pending(1, 5000)]);
    world.windows.takeDue(5000);
    await world.run();
    expect(world.sweep.found).toBe(1);
    expect(await readAgain(world, 5000)).toEqual(["dlv_1"]);
  });

  it("finds a fresh delivery that memory does not hold, and has it sent from the disk", async () => {
    const world = setUp([pending(1, 900)]);
    world.disk.freshRows.push(pending(2, 950));
    await world.run();
    expect(world.sweep.found).toBe(1);
    expect(world.alarms).toMatchObject([{ deliveries: 1, fresh: 1, first: "dlv_2" }]);
    expect(world.disk.freshRows).toEqual([]);
    expect(await readAgain(world)).toEqual(["dlv_2"]);
  });

  it("takes nothing for lost by us while it is not known what became of a commit", async () => {
    const world = setUp([pending(1, 900)]);
    world.doubt.isOpen = true;
    world.disk.freshRows.push(pending(2, 950));
    await world.run();
    expect([world.sweep.found, world.alarms]).toEqual([0, []]);
    expect(world.warnings).toEqual([{ deliveries: 1, fresh: 1, endpoints: 1, first: "dlv_2" }]);
    expect(await readAgain(world)).toEqual(["dlv_2"]);
  });

  it("does not report a delivery as lost between its commit and the hand-over", async () => {
    const world = setUp([pending(1, 900)]);
    const [replayed, published, recorded] = [pending(2, 950), pending(3, 960), pending(4, 970)];
    world.disk.waitingRows.push(replayed, recorded);
    world.disk.freshRows.push(published);
    await world.run(() => {
      world.windows.noteWaiting(replayed);
      world.windows.load(claim({ ...published, fresh: true }));
      world.disk.waitingRows = world.disk.waitingRows.filter((row) => row !== recorded);
    });
    expect(world.sweep.found).toBe(0);
    expect(world.alarms).toEqual([]);
  });

  it("leaves the deliveries of a disabled endpoint alone", async () => {
    const world = setUp([pending(1, 900)]);
    world.disk.waitingRows.push(pending(2, 950));
    world.disk.freshRows.push(pending(3, 950));
    world.disabled.add("ep_1");
    await world.run();
    expect(world.sweep.found).toBe(0);
  });

  it("looks at no more than 500 rows and a page in a turn of the event loop, whoever holds them", async () => {
    const rows = Array.from({ length: 3000 }, (_, at) => pending(at, 900, `ep_${at % 3}`));
    const far = Array.from({ length: 3000 }, (_, at) => pending(10_000 + at, 9000, `ep_far_${at}`));
    const world = setUp([...rows, ...far]);
    world.disk.freshRows.push(...Array.from({ length: 1200 }, (_, at) => pending(20_000 + at, 950)));
    for (const row of world.disk.freshRows) world.windows.load(claim({ ...row, fresh: true }));
    await world.run();
    expect(world.sweep.found).toBe(0);
    expect(world.disk.mostInATurn).toBeLessThanOrEqual(1500);
  });
});
