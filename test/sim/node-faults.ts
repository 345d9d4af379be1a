/** Tests of two nodes, with a fault at one statement of the first. */
import { describe, expect, it } from "vitest";
import { afterEveryFile } from "../harness/ends.ts";
import { startServer } from "../harness/postgres.ts";
import { createDatabase } from "../store/stores.ts";
import { FAULTS, nodesLive, type Happening } from "./nodes.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterEveryFile(() => server?.stop());

const live = async (happening: Happening | null) => nodesLive(server!.urlOf(await createDatabase(server!)), happening);

const FEW = ["stalled before", "lost", "ahead", "stalled before", "lost", "behind"] as const;

/** Returns this many of them, spread as far apart as possible. */
function some<T>(count: number, all: readonly T[]): readonly T[] {
  return Array.from({ length: count }, (_, at) => all[Math.floor(((at + 0.5) * all.length) / count)]!);
}

/**
 * `moves` are the statements of transactions in which a delivery or an endpoint moves, and `statements` are all. Each
 * is tried with every fault.
 */
export function twoNodes(cases: { moves: number | "all" } | { statements: number | "all" }, seconds: number): void {
  describe.skipIf(server === null)("two nodes", () => {
    it("deliver each event, whatever happens to one of them, and wherever", { timeout: seconds * 1000 }, async () => {
      const { moves, sentBy, statements, wrong } = await live(null);
      expect(wrong).toEqual([]);
      expect(sentBy).toEqual(["first first first", "first first first", "first second first"]);
      const found: string[] = [];
      for (const happening of chosen(cases, moves, statements)) {
        const { wrong: what } = await live(happening);
        if (what.length > 0) found.push(`${happening.fault} at statement ${happening.at}: ${what.join("; ")}`);
      }
      expect(found).toEqual([]);
    });
  });
}

function chosen(
  cases: Parameters<typeof twoNodes>[0],
  moves: readonly number[],
  statements: number,
): readonly Happening[] {
  const [all, count] =
    "moves" in cases
      ? [moves.map((at, nth): Happening => ({ at, fault: FEW[nth % FEW.length]! })), cases.moves]
      : [
          Array.from({ length: statements }, (_, at) => FAULTS.map((fault): Happening => ({ at, fault }))).flat(),
          cases.statements,
        ];
  return count === "all" ? all : some(Math.min(count, all.length), all);
}
