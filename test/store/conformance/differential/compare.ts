/** Plays the same random histories on both stores, and compares every answer, list and count. */
import { expect, it } from "vitest";
import type { TenantShare } from "../../../../src/domain/time/timetable.ts";
import type { TestServer } from "../../../harness/postgres.ts";
import { Random } from "../../../sim/random.ts";
import { openPostgresOn, openSqlite } from "../../stores.ts";
import { historyOf, mayBeginSweep, type Turn } from "./history.ts";
import { Player, settleSweeps } from "./player.ts";

/** The histories that share a pair of stores. Each has its own tenants, and a new pair of stores costs as much as one. */
const TOGETHER = 10;
const LENGTH = 40;
/** The last steps of a history that are shown when it finds a difference. */
const SHOWN = 12;

export function compareHistories(server: () => TestServer, from: number, histories: number): void {
  const end = from + histories;
  const firsts = Array.from({ length: Math.ceil(histories / TOGETHER) }, (_, at) => from + at * TOGETHER);

  it.each(firsts)("answer the same to the histories from seed %i on", async (first) => {
    const shares = [new Map<string, TenantShare>(), new Map<string, TenantShare>()] as const;
    const stores = [
      await openSqlite({ shares: shares[0] }),
      await openPostgresOn(server)({ shares: shares[1] }),
    ] as const;
    const advance = (ms: number) => stores.forEach(({ clock }) => clock.advance(ms));
    for (let seed = first; seed < Math.min(first + TOGETHER, end); seed++) {
      const players = stores.map((store, at) => new Player(store, shares[at]!, seed));
      await play(players, historyOf(new Random(seed), LENGTH), advance, seed);
    }
  });
}

async function play(
  players: readonly Player[],
  history: readonly Turn[],
  advance: (ms: number) => void,
  seed: number,
): Promise<void> {
  for (const [at, { step, wait, isCompared }] of history.entries()) {
    const after = () =>
      `seed ${seed}, after step ${at}:\n${history
        .slice(Math.max(0, at + 1 - SHOWN), at + 1)
        .map((turn) => JSON.stringify(turn.step))
        .join("\n")}\n`;
    advance(wait);
    const [sqlite, postgres] = [await players[0]!.play(step), await players[1]!.play(step)];
    expect(postgres, after()).toBe(sqlite);
    if (mayBeginSweep(step)) await settleSweeps(players, advance);
    if (!isCompared && at < history.length - 1) continue;
    const [one, other] = [await players[0]!.look(new Random(at)), await players[1]!.look(new Random(at))];
    for (const [index, [name, answer]] of one.entries()) expect(other[index]![1], `${after()}${name}`).toBe(answer);
  }
}
