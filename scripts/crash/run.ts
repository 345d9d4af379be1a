/** Runs many lives, a few at a time, and adds up their results. */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess, type Home } from "./daemon.ts";
import { noFindings, type Findings } from "./judge.ts";
import { runLife, type LifeReport, type Plant } from "./life.ts";
import { monotonic } from "./journal.ts";

export interface RunOptions {
  readonly rounds: number;
  /** No life is begun after this many seconds. */
  readonly seconds: number;
  readonly seed: number;
  readonly plant: Plant;
  readonly program: readonly string[];
  readonly startUpLimitMs: number;
  readonly onProgress: (totals: Totals) => void;
}

export interface Totals {
  lives: number;
  rounds: number;
  kills: number;
  readonly startUpsMs: number[];
  readonly failedOpens: string[];
  readonly findings: Findings;
  /** The directories of lives with violations. All others are removed. */
  readonly kept: string[];
  seconds: number;
}

const MAX_ROUNDS_OF_LIFE = 10;
/** A round spends more time waiting for its daemon's start than working. */
const LANES = availableParallelism() + 1;

export async function run(options: RunOptions): Promise<Totals> {
  const { rounds, seconds, seed, plant, program, startUpLimitMs, onProgress } = options;
  const startedAt = monotonic();
  const dir = mkdtempSync(join(tmpdir(), "webhookd-crash-"));
  // Keep the directory after a violation, and after an unexpected error, with which Node exits with 1 too.
  process.once("exit", (code) => code !== 1 && rmSync(dir, { recursive: true, force: true }));
  const totals: Totals = {
    lives: 0,
    rounds: 0,
    kills: 0,
    startUpsMs: [],
    failedOpens: [],
    findings: noFindings(),
    kept: [],
    seconds: 0,
  };
  const elapsed = () => (monotonic() - startedAt) / 1000;
  const compileCache = join(dir, "compile-cache");
  const firstStartUpMs = await warmUp({ dir: join(dir, "warm-up"), compileCache, program });
  const ofLife = Math.max(2, Math.min(MAX_ROUNDS_OF_LIFE, Math.ceil(rounds / LANES)));
  let begun = 0;
  let lives = 0;

  async function lane(): Promise<void> {
    while (begun < rounds && elapsed() < seconds && violations(totals) === 0) {
      const count = Math.min(ofLife, rounds - begun);
      begun += count;
      const home = { dir: join(dir, `life-${++lives}`), compileCache, program };
      const ofSeed = seed * 1_000_003 + lives;
      const report = await runLife({ home, seed: ofSeed, rounds: count, plant, firstStartUpMs, startUpLimitMs });
      if (add(report, totals)) totals.kept.push(home.dir);
      else rmSync(home.dir, { recursive: true });
      totals.seconds = elapsed();
      onProgress(totals);
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane));
  totals.seconds = elapsed();
  return totals;
}

export function violations({ failedOpens, findings }: Pick<LifeReport, "failedOpens" | "findings">): number {
  const { lost, falseDelivered, duplicates, wrong } = findings;
  return failedOpens.length + lost.length + falseDelivered.length + duplicates.unexplained.length + wrong.length;
}

/** Fills the compile cache, which Node writes only at a clean exit. Returns the time of the start. */
async function warmUp(home: Home): Promise<number> {
  const daemon = DaemonProcess.start(home);
  const startUpMs = await daemon.untilListening();
  daemon.terminate();
  await daemon.ended;
  if (startUpMs === null) throw new Error(`the daemon does not start; see ${join(home.dir, "daemon.log")}`);
  return startUpMs;
}

/** Adds a report. Returns true if it has a violation. */
function add(report: LifeReport, totals: Totals): boolean {
  const { findings } = report;
  const all = totals.findings;
  totals.lives++;
  totals.rounds += report.rounds;
  totals.kills += report.kills;
  totals.startUpsMs.push(...report.startUpsMs);
  totals.failedOpens.push(...report.failedOpens);
  all.acked += findings.acked;
  all.deliveries += findings.deliveries;
  all.requests += findings.requests;
  all.inOrder += findings.inOrder;
  all.lost.push(...findings.lost);
  all.falseDelivered.push(...findings.falseDelivered);
  all.blamed += findings.blamed;
  all.wrong.push(...findings.wrong);
  all.duplicates.explained += findings.duplicates.explained;
  all.duplicates.resent += findings.duplicates.resent;
  all.duplicates.unexplained.push(...findings.duplicates.unexplained);
  all.duplicates.mostCommits = Math.max(all.duplicates.mostCommits, findings.duplicates.mostCommits);
  all.duplicates.longestMs = Math.max(all.duplicates.longestMs, findings.duplicates.longestMs);
  return violations(report) > 0;
}
