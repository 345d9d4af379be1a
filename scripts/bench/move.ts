/**
 * Moves a store of 200,000 events to PostgreSQL and back. `stopped` measures how long no daemon runs during the move.
 * `online` moves the store while a daemon publishes and sends, and measures how long publishes are refused.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startServer } from "../../test/harness/postgres.ts";
import { moveStore, type Moved, type MoveOptions } from "../../src/store/move/move.ts";
import { atMost, Measures, none, type Measure } from "./measure.ts";
import { moveBeside, type MovedBeside } from "./move-beside.ts";
import type { BenchOptions } from "./options.ts";
import { scratch } from "./scratch.ts";
import { copyStore, seeded } from "./seed.ts";

const EVENTS = 200_000;
const ROUNDS = 2;
const REFUSED_S = 10;
const WAYS = ["to PostgreSQL", "back to the file"] as const;

export async function move({ cases, events: wanted, note, rounds: most }: BenchOptions): Promise<Measure[]> {
  const events = wanted ?? EVENTS;
  const rounds = most ?? ROUNDS;
  const kept = await seeded({ pending: events, endpoints: 1000, tenant: "moved", as: "delivered" }, note);
  const server = await startServer();
  if (server === null) {
    note("skipped: there is no PostgreSQL for this platform to move a store to");
    return [];
  }
  const all: Measure[] = [];
  const isChosen = (name: string) => cases === undefined || cases.includes(name);
  /** Runs with a copy of the store, and an empty database. */
  const afresh = async (run: (dir: string, url: string) => Promise<void>) => {
    const dir = scratch();
    copyStore(kept, dir);
    const name = `moved_${process.pid}`;
    await server.ask(`CREATE DATABASE ${name}`);
    await run(dir, server.urlOf(name));
    await server.ask(`DROP DATABASE ${name} WITH (FORCE)`);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    if (isChosen("stopped")) all.push(...(await stopped({ afresh, events, rounds, note })));
    if (isChosen("online")) all.push(...(await online({ afresh, events, rounds, note })));
  } finally {
    await server.stop();
  }
  return all;
}

interface Case {
  readonly afresh: (run: (dir: string, url: string) => Promise<void>) => Promise<void>;
  readonly events: number;
  readonly rounds: number;
  readonly note: (text: string) => void;
}

async function stopped({ afresh, events, rounds, note }: Case): Promise<Measure[]> {
  const wall: number[][] = [[], []];
  const cpu: number[][] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    await afresh(async (dir, url) => {
      for (const [way, direction] of (["to_postgres", "to_file"] as const).entries()) {
        const before = process.cpuUsage();
        const { ms } = await moveOnce(join(dir, "data"), url, direction);
        const { user, system } = process.cpuUsage(before);
        wall[way]!.push((ms * 1000) / events);
        cpu[way]!.push((user + system) / events);
        note(`round ${round}, ${direction}: ${(ms / 1000).toFixed(1)} s`);
      }
    });
  }
  const measures = new Measures("move");
  for (const [way, name] of WAYS.entries()) {
    measures.add(`${name}: a million events`, "s", wall[way]!);
    measures.add(`${name}: CPU per event, without PostgreSQL's`, "µs", cpu[way]!);
  }
  return measures.all;
}

async function online({ afresh, rounds, note }: Case): Promise<Measure[]> {
  const all: MovedBeside[][] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    await afresh(async (dir, url) => {
      for (const [way, moved] of (await moveBeside(dir, url, note)).entries()) all[way]!.push(moved);
    });
  }
  const measures = new Measures("move, beside a daemon");
  for (const [way, name] of WAYS.entries()) {
    const moved = all[way]!;
    const copied = moved.map(({ copiedMs }) => copiedMs / 1000);
    const refused = moved.map(({ refusedMs }) => refusedMs / 1000);
    const [acked, lost, twice] = (["acked", "lost", "twice"] as const).map((of) => moved.map((one) => one[of]));
    measures.add(`${name}: copied and compared`, "s", copied);
    measures.add(`${name}: publishing refused`, "s", refused, atMost("", REFUSED_S, " s"));
    measures.add(`${name}: acknowledged meanwhile`, "events", acked!);
    measures.add(`${name}: acknowledged and lost`, "", lost!, none(""));
    measures.add(`${name}: sent twice`, "", twice!, none(""));
  }
  return measures.all;
}

/** Moves the store while no daemon runs. */
export function moveOnce(dir: string, url: string, direction: MoveOptions["direction"]): Promise<Moved> {
  return moveStore({
    dir,
    url,
    direction,
    secretKeyFile: join(dir, "secret.key"),
    how: "move",
    resume: false,
    beside: false,
    onReady: () => {},
    now: Date.now(),
    monotonic: () => performance.now(),
    onProgress: () => {},
  });
}
