import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { routeIn } from "../../scripts/route-page.ts";

/** The program waits for seven seconds. The rest is for a busy machine. */
const MOST_MS = 120_000;

it("ARCHITECTURE.md has the way of one event, as the running daemon shows it", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/route.ts", "--json"], { timeout: MOST_MS });
  const files = JSON.parse(stdout) as string[];
  expect(files.length).toBeGreaterThan(20);
  // Two threads measure the times, so neighbouring files may change places.
  const hint = "write it anew with: npm run route -- --write";
  expect(routeIn(readFileSync("ARCHITECTURE.md", "utf8")).toSorted(), hint).toEqual(files.toSorted());
});
