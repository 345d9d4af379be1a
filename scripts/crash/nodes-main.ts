/** `npm run crash -- --nodes N`: prints the result of the rounds, for people and for programs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EARLY_MS, LATE_MS, runClocks } from "./clocks.ts";
import { RESUMED_MS, runFailovers } from "./failover.ts";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import type { NodeLifeOptions } from "./node-life.ts";
import { runNodeRounds, TAKE_OVER_MS } from "./node-rounds.ts";
import { GROWN_MIB, LATE_LIMIT_MS, RESUMED_AFTER_STALL_MS, runStalls } from "./stall.ts";
import { runDesertions } from "./sync.ts";

export const VICTIMS = ["node", "primary", "stall", "sync", "clocks"] as const;
export type Victim = (typeof VICTIMS)[number];

export interface NodesOptions {
  readonly nodes: number;
  readonly victim: Victim;
  readonly rounds: number;
  readonly seed: number;
  readonly program: readonly string[];
  readonly json: boolean;
}

interface Outcome {
  readonly findings: Findings;
  readonly rows: readonly (readonly [string, string | number])[];
  /** The times that exceed their limit. */
  readonly slow: readonly string[];
}

const SAID_EVERY = 10;
const SHOWN = 20;

/** Returns true if nothing was violated. */
export async function nodesMain(options: NodesOptions): Promise<boolean> {
  const { json, nodes, seed, victim } = options;
  const dir = mkdtempSync(join(tmpdir(), "webhookd-crash-"));
  process.once("exit", (code) => code !== 1 && rmSync(dir, { recursive: true, force: true }));
  const startedAt = monotonic();
  const elapsed = () => Math.round((monotonic() - startedAt) / 1000);
  const onProgress = (rounds: number) => {
    if (!json && rounds % SAID_EVERY === 0) console.error(`${elapsed()} s: ${rounds} rounds`);
  };
  const { findings, rows, slow } = await RUNS[victim]({ ...options, dir, onProgress });
  const { lost, falseDelivered, duplicates, wrong, acked } = findings;
  const idle = acked === 0 ? ["nothing was acked"] : [];
  const violations = [...slow, ...wrong, ...falseDelivered, ...duplicates.unexplained, ...lost, ...idle];
  const all = [...rows, ...rowsOf(findings), ["seconds", elapsed()] as const];
  process.stdout.write(
    json
      ? `${JSON.stringify({ seed, nodes, victim, ...Object.fromEntries(all), violations })}\n`
      : all.map(([name, value]) => `${name.padEnd(28)}${value}\n`).join(""),
  );
  if (violations.length === 0) return true;
  const lines = violations.slice(0, SHOWN).map((line) => `  ${line}`);
  if (violations.length > SHOWN) lines.push(`  and ${violations.length - SHOWN} more`);
  lines.push(`seed ${seed}; kept, with both journals and the nodes' logs: ${dir}`);
  process.stderr.write(lines.map((line) => `${line}\n`).join(""));
  return false;
}

const RUNS: Record<Victim, (options: NodeLifeOptions) => Promise<Outcome>> = {
  async node(options) {
    const { findings, kills, late, rounds, suspensions, ...times } = await runNodeRounds(options);
    const rows = [
      ["rounds", `${rounds}: ${kills} kills, ${suspensions} suspensions`],
      ["take-over after a kill", spread(times.takeOversMs)],
      ["  after a suspension", spread(times.takeOversOfSuspendedMs)],
      ["late of suspended", late],
    ] as const;
    return { findings, rows, slow: over(times.takeOversMs, TAKE_OVER_MS, "a take-over") };
  },
  async primary(options) {
    const { findings, promotedMs, resumedMs, rounds } = await runFailovers(options);
    const rows = [
      ["rounds", rounds],
      ["promoted after", spread(promotedMs)],
      ["publishing resumed after", spread(resumedMs)],
    ] as const;
    return { findings, rows, slow: over(resumedMs, RESUMED_MS, "the way back to publishing") };
  },
  async clocks(options) {
    const { earlyMs, findings, lateMs, putOff, quietMs, rounds, skews, spikes } = await runClocks(options);
    const rows = [
      ["rounds", `${rounds}: ${spikes} spikes, ${skews} skews`],
      ["attempts late by", spread(lateMs)],
      ["  while clocks were right", `at most ${Math.round(quietMs)} ms`],
      ["  early by", spread(earlyMs.filter((ms) => ms > 0))],
      ["put off, and found", putOff],
    ] as const;
    const slow = [
      ...lateMs.filter((ms) => ms > LATE_MS + quietMs).map((ms) => `an attempt came ${Math.round(ms)} ms late`),
      ...earlyMs.filter((ms) => ms > EARLY_MS).map((ms) => `a retry came ${Math.round(ms)} ms early`),
    ];
    return { findings, rows, slow };
  },
  async stall(options) {
    const { findings, grownMiB, lateMs, refused, resumedMs, rounds } = await runStalls(options);
    const rows = [
      ["rounds", rounds],
      ["answered 503 meanwhile", refused],
      ["publishing resumed after", spread(resumedMs)],
      ["a node grew by at most", `${Math.round(Math.max(...grownMiB))} MiB`],
      ["sent after a slow commit", spread(lateMs)],
    ] as const;
    const slow = [
      ...over(resumedMs, RESUMED_AFTER_STALL_MS, "the way back to publishing"),
      ...over(lateMs, LATE_LIMIT_MS, "the event of a slow commit"),
      ...grownMiB.filter((grown) => grown > GROWN_MIB).map((grown) => `a node grew by ${Math.round(grown)} MiB`),
      ...(refused === 0 ? ["no publish was refused while nothing could be stored"] : []),
    ];
    return { findings, rows, slow };
  },
  async sync(options) {
    const { ended, findings, resumedMs, rounds } = await runDesertions(options);
    const rows = [
      ["rounds", rounds],
      ["waits for the standby ended", `${ended.terminate} terminated, ${ended.cancel} cancelled, ${ended.kill} killed`],
      ["publishing resumed after", spread(resumedMs)],
    ] as const;
    const none = Object.values(ended).every((count) => count === 0);
    return { findings, rows, slow: none ? ["no commit was waiting for the standby"] : [] };
  },
};

function rowsOf({ acked, deliveries, duplicates, falseDelivered, inOrder, lost, requests, wrong }: Findings) {
  return [
    ["acked", `${acked} events; ${deliveries} deliveries, ${requests} requests`],
    ["in order", `${inOrder} pairs of events of a key`],
    ["acked and lost", lost.length],
    ["false delivered", falseDelivered.length],
    ["duplicates explained", duplicates.explained],
    ["  unrecorded at most", `${Math.round(duplicates.longestMs)} ms, ${duplicates.mostCommits} commits`],
    ["duplicates unexplained", duplicates.unexplained.length],
    ["resent after a reset", duplicates.resent],
    ["other violations", wrong.length],
  ] as const;
}

function over(times: readonly number[], limitMs: number, what: string): string[] {
  return times.filter((ms) => ms > limitMs).map((ms) => `${what} took ${Math.round(ms)} ms`);
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round);
  if (sorted.length === 0) return "none";
  return `${sorted[0]} to ${sorted.at(-1)} ms, p50 ${sorted[sorted.length >> 1]}`;
}
