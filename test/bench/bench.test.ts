import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { turnsFor } from "../../scripts/bench/fair.ts";
import { Ledger } from "../../scripts/bench/ledger.ts";
import { timesIn } from "../../scripts/bench/run.ts";
import { SCENARIOS } from "../../scripts/bench/scenarios.ts";

const run = (...args: string[]) => promisify(execFile)(process.execPath, ["scripts/bench/main.ts", ...args]);

describe("the bench", () => {
  it("knows a scenario for each goal that it measures", () => {
    const names =
      "bare batch single relay stages flat hang fair lists search backlog overrun pending lanes flood quiet cold idle start prune move nodes errors portal filters outbox stuck peers";
    expect(SCENARIOS).toEqual(names.split(" "));
  });

  it("takes an event for lost that was acked and has not arrived", () => {
    const ledger = new Ledger();
    ledger.count("submitted", 3);
    ledger.ackedAt.set([0, 1, 1]);
    ledger.arrive(1, 2);
    ledger.arrive(1, 3);
    expect([...ledger.missing()]).toEqual([2]);
    expect(ledger.get("duplicates")).toBe(1);
  });

  it("times what was submitted in a window, and takes what was never answered for endless", () => {
    const ledger = new Ledger();
    ledger.count("submitted", 4);
    ledger.submittedAt.set([0, 9, 10, 15, 21]);
    ledger.ackedAt.set([0, 19, 14, 0, 22]);
    expect(timesIn(ledger, { from: 10, to: 20 }, "ackedAt")).toEqual([4, Number.POSITIVE_INFINITY]);
  });

  it("gives each side of the fair scenario a thousand events at 50 a second, however short the windows are", () => {
    for (const seconds of [0.5, 1, 3, 5, 19.9, 60]) {
      expect(turnsFor(seconds) * seconds * 50, `${seconds} s`).toBeGreaterThan(1000);
    }
  });

  it("refuses a scenario that there is not, and says which there are", async () => {
    await expect(run("fastest")).rejects.toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/no scenario "fastest"[^]*bare, batch, single/),
    });
  });

  it("measures the smallest one: nothing lost, every sampled signature verified", async () => {
    // Processor time is counted in steps of 10 ms, and a busy machine does little in a fifth of a second.
    const { stdout } = await run("bare", "--json", "--seconds", "2", "--rounds", "1");
    const { measures } = JSON.parse(stdout) as { measures: { measure: string; median: number }[] };
    const valueOf = (name: string) => measures.find(({ measure }) => measure === name)?.median;
    expect(valueOf("lost, forged or broken")).toBe(0);
    expect(valueOf("delivered")).toBeGreaterThan(0);
    expect(valueOf("CPU per event")).toBeGreaterThan(0);
  });
});
