/** `npm run crash -- --nodes N`: what the rounds came to, for people and for programs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonic } from "./journal.ts";
import { runNodeRounds, TAKE_OVER_MS, type NodeRounds } from "./node-rounds.ts";

export interface NodesOptions {
  readonly nodes: number;
  readonly rounds: number;
  readonly seed: number;
  readonly program: readonly string[];
  readonly json: boolean;
}

const SAID_EVERY = 10;
const SHOWN = 20;

/** Whether nothing was violated. */
export async function nodesMain(options: NodesOptions): Promise<boolean> {
  const { json, nodes, seed } = options;
  const dir = mkdtempSync(join(tmpdir(), "webhookd-crash-"));
  process.once("exit", (code) => code !== 1 && rmSync(dir, { recursive: true, force: true }));
  const startedAt = monotonic();
  const report = await runNodeRounds({
    ...options,
    dir,
    onProgress(rounds) {
      if (json || rounds % SAID_EVERY !== 0) return;
      console.error(`${Math.round((monotonic() - startedAt) / 1000)} s: ${rounds} rounds`);
    },
  });
  const seconds = Math.round((monotonic() - startedAt) / 1000);
  const violations = violationsOf(report);
  process.stdout.write(
    json
      ? `${JSON.stringify({ seed, nodes, seconds, ...report, violations })}\n`
      : table(report).concat(`${"seconds".padEnd(26)}${seconds}\n`),
  );
  if (violations.length === 0) return true;
  const lines = violations.slice(0, SHOWN).map((line) => `  ${line}`);
  if (violations.length > SHOWN) lines.push(`  and ${violations.length - SHOWN} more`);
  lines.push(`seed ${seed}; kept, with both journals and the nodes' logs: ${dir}`);
  process.stderr.write(lines.map((line) => `${line}\n`).join(""));
  return false;
}

function violationsOf({ findings, takeOversMs }: NodeRounds): string[] {
  const { lost, falseDelivered, duplicates, wrong, acked } = findings;
  const slow = takeOversMs.filter((ms) => ms > TAKE_OVER_MS).map((ms) => `a take-over took ${Math.round(ms)} ms`);
  const idle = acked === 0 ? ["nothing was acked"] : [];
  return [...slow, ...wrong, ...falseDelivered, ...duplicates.unexplained, ...lost, ...idle];
}

function table({
  findings,
  kills,
  late,
  rounds,
  suspensions,
  takeOversMs,
  takeOversOfSuspendedMs,
}: NodeRounds): string {
  const { acked, deliveries, duplicates, falseDelivered, lost, requests, wrong } = findings;
  const rows: [string, string | number][] = [
    ["rounds", `${rounds}: ${kills} kills, ${suspensions} suspensions`],
    ["acked", `${acked} events; ${deliveries} deliveries, ${requests} requests`],
    ["acked and lost", lost.length],
    ["false delivered", falseDelivered.length],
    ["duplicates explained", duplicates.explained],
    ["  unrecorded at most", `${Math.round(duplicates.longestMs)} ms, ${duplicates.mostCommits} commits`],
    ["duplicates unexplained", duplicates.unexplained.length],
    ["resent after a reset", duplicates.resent],
    ["late of suspended", late],
    ["other violations", wrong.length],
    ["take-over after a kill", spread(takeOversMs)],
    ["  after a suspension", spread(takeOversOfSuspendedMs)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(26)}${value}\n`).join("");
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round);
  if (sorted.length === 0) return "none";
  return `${sorted[0]} to ${sorted.at(-1)} ms, p50 ${sorted[sorted.length >> 1]}`;
}
