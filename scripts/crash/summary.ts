/** Formats the result of a run, for people and for programs. */
import { violations, type Totals } from "./run.ts";

const SHOWN = 20;

export interface Summary {
  readonly seed: number;
  readonly rounds: number;
  readonly kills: number;
  readonly lives: number;
  readonly seconds: number;
  readonly acked: number;
  readonly deliveries: number;
  readonly requests: number;
  readonly in_order: number;
  readonly acked_and_lost: number;
  readonly false_delivered: number;
  readonly duplicates_explained: number;
  readonly duplicates_resent: number;
  readonly duplicates_unexplained: number;
  readonly longest_unrecorded_ms: number;
  readonly longest_unrecorded_commits: number;
  readonly attempts_blamed_for_kills: number;
  readonly failed_opens: number;
  readonly other_violations: number;
  readonly start_up_p50_ms: number;
  readonly start_up_max_ms: number;
  readonly violations: readonly string[];
  readonly kept: readonly string[];
}

export function summaryOf(totals: Totals, seed: number): Summary {
  const { findings, failedOpens } = totals;
  const { lost, falseDelivered, duplicates, wrong } = findings;
  const startUps = totals.startUpsMs.toSorted((a, b) => a - b).map(Math.round);
  return {
    seed,
    rounds: totals.rounds,
    kills: totals.kills,
    lives: totals.lives,
    seconds: Math.round(totals.seconds * 10) / 10,
    acked: findings.acked,
    deliveries: findings.deliveries,
    requests: findings.requests,
    in_order: findings.inOrder,
    acked_and_lost: lost.length,
    false_delivered: falseDelivered.length,
    duplicates_explained: duplicates.explained,
    duplicates_resent: duplicates.resent,
    duplicates_unexplained: duplicates.unexplained.length,
    longest_unrecorded_ms: Math.round(duplicates.longestMs),
    longest_unrecorded_commits: duplicates.mostCommits,
    attempts_blamed_for_kills: findings.blamed,
    failed_opens: failedOpens.length,
    other_violations: wrong.length,
    start_up_p50_ms: startUps[startUps.length >> 1] ?? 0,
    start_up_max_ms: startUps.at(-1) ?? 0,
    violations: [...failedOpens, ...lost, ...falseDelivered, ...duplicates.unexplained, ...wrong],
    kept: totals.kept,
  };
}

/** True if nothing was violated, and there was something to violate. */
export function isGood(totals: Totals): boolean {
  return violations(totals) === 0 && totals.findings.acked > 0 && totals.kills > 0;
}

export function table(summary: Summary): string {
  const rate = (summary.rounds / summary.seconds).toFixed(1);
  const rows: [string, string | number][] = [
    ["rounds", `${summary.rounds} in ${summary.seconds} s (${rate}/s), ${summary.lives} data directories`],
    ["kills", summary.kills],
    ["acked", `${summary.acked} events; ${summary.deliveries} deliveries, ${summary.requests} requests`],
    ["in order", `${summary.in_order} pairs of events of a key`],
    ["acked and lost", summary.acked_and_lost],
    ["false delivered", summary.false_delivered],
    ["duplicates explained", summary.duplicates_explained],
    ["  unrecorded at most", `${summary.longest_unrecorded_ms} ms, ${summary.longest_unrecorded_commits} commits`],
    ["duplicates unexplained", summary.duplicates_unexplained],
    ["resent after a reset", summary.duplicates_resent],
    ["blamed for kills", summary.attempts_blamed_for_kills],
    ["failed opens", summary.failed_opens],
    ["other violations", summary.other_violations],
    ["start-up p50 / max", `${summary.start_up_p50_ms} / ${summary.start_up_max_ms} ms`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(24)}${value}\n`).join("");
}

/** Lists the violations, with the seed and the files that help to investigate a failed run. */
export function account({ violations: all, kept, seed }: Summary): string {
  const lines = all.slice(0, SHOWN).map((line) => `  ${line}`);
  if (all.length > SHOWN) lines.push(`  and ${all.length - SHOWN} more`);
  lines.push(`seed ${seed}: npm run crash -- --seed ${seed} plans the same kills, on another schedule`);
  for (const dir of kept) lines.push(`kept, with both journals and the daemon's log: ${dir}`);
  return lines.map((line) => `${line}\n`).join("");
}
