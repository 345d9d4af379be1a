/**
 * Something happens to a node at one of its statements: here at those in whose transactions something moves.
 * WEBHOOKD_CASES=100 tries so many of all statements, in each way; WEBHOOKD_CASES=all tries each.
 */
import { afterAll, describe, expect, it } from "vitest";
import { startServer } from "../harness/postgres.ts";
import { createDatabase } from "../store/stores.ts";
import { FAULTS, nodesLive, type Happening } from "./nodes.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const CASES = process.env["WEBHOOKD_CASES"];

const live = async (happening: Happening | null) => nodesLive(server!.urlOf(await createDatabase(server!)), happening);

const FEW = ["stalled before", "lost", "ahead", "stalled before", "lost", "behind"] as const;

/** So many of them, as far apart as they can be. */
function some<T>(count: number, all: readonly T[]): readonly T[] {
  return Array.from({ length: count }, (_, at) => all[Math.floor(((at + 0.5) * all.length) / count)]!);
}

describe.skipIf(server === null)("two nodes", () => {
  it("deliver each event, whatever happens to one of them, and wherever", { timeout: 7_200_000 }, async () => {
    const { moves, sentBy, statements, wrong } = await live(null);
    expect(wrong).toEqual([]);
    expect(sentBy).toEqual(["first first first", "first first first", "first second first"]);
    const all = Array.from({ length: statements }, (_, at) => FAULTS.map((fault): Happening => ({ at, fault }))).flat();
    const few = moves.map((at, nth): Happening => ({ at, fault: FEW[nth % FEW.length]! }));
    const count = CASES === "all" ? all.length : Number(CASES);
    const happenings = CASES === undefined ? few : some(count, all);
    const found: string[] = [];
    for (const happening of happenings) {
      const { wrong: what } = await live(happening);
      if (what.length > 0) found.push(`${happening.fault} at statement ${happening.at}: ${what.join("; ")}`);
    }
    expect(found).toEqual([]);
  });
});
