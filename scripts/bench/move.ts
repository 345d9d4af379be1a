/** A store of 200,000 events that moves to PostgreSQL and back: how long no daemon runs meanwhile. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startServer } from "../../test/harness/postgres.ts";
import { moveStore, type Moved, type MoveOptions } from "../../src/store/move/move.ts";
import { Measures, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { scratch } from "./scratch.ts";
import { copyStore, seeded } from "./seed.ts";

/** With `--case` another number of them. */
const EVENTS = 200_000;
const ROUNDS = 2;

export async function move({ cases, note, rounds }: BenchOptions): Promise<Measure[]> {
  const events = Number(cases?.[0] ?? EVENTS);
  const kept = await seeded({ pending: events, endpoints: 1000, tenant: "moved", as: "delivered" }, note);
  const server = await startServer();
  if (server === null) {
    note("skipped: there is no PostgreSQL for this platform to move a store to");
    return [];
  }
  const ways = { to_postgres: [] as number[], to_file: [] as number[] };
  const cpu = { to_postgres: [] as number[], to_file: [] as number[] };
  for (let round = 1; round <= (rounds ?? ROUNDS); round++) {
    const dir = scratch();
    copyStore(kept, dir);
    const name = `moved_${process.pid}_${round}`;
    await server.ask(`CREATE DATABASE ${name}`);
    for (const direction of ["to_postgres", "to_file"] as const) {
      const before = process.cpuUsage();
      const { ms } = await once(join(dir, "data"), server.urlOf(name), direction);
      const { user, system } = process.cpuUsage(before);
      ways[direction].push((ms * 1000) / events);
      cpu[direction].push((user + system) / events);
      note(`round ${round}, ${direction}: ${(ms / 1000).toFixed(1)} s`);
    }
    await server.ask(`DROP DATABASE ${name} WITH (FORCE)`);
    rmSync(dir, { recursive: true, force: true });
  }
  await server.stop();
  const measures = new Measures("move");
  for (const [direction, name] of [
    ["to_postgres", "to PostgreSQL"],
    ["to_file", "back to the file"],
  ] as const) {
    measures.add(`${name}: a million events`, "s", ways[direction]);
    measures.add(`${name}: CPU per event, without PostgreSQL's`, "µs", cpu[direction]);
  }
  return measures.all;
}

function once(dir: string, url: string, direction: MoveOptions["direction"]): Promise<Moved> {
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
