/** Makes one recording, and checks many disks that it may have left behind. */
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Random } from "../../test/sim/random.ts";
import { watchOver } from "../crash/children.ts";
import { drawControls, drawCuts, surviving, type Cut, type Honesty } from "./cuts.ts";
import { Disk, nameOf, writeTo } from "./disk.ts";
import type { Expectation, Promised, Verdict } from "./promises.ts";
import { DATA, record, Receivers, type Session } from "./session.ts";

const REOPEN = fileURLToPath(new URL("reopen.ts", import.meta.url));
const STUCK_MS = 120_000;

export interface PowerOptions {
  readonly dir: string;
  readonly recorder: string;
  /** The number of disks to rebuild: honest ones, and of each kind that lies. */
  readonly states: number;
  readonly controls: number;
  readonly seconds: number;
  readonly seed: number;
  readonly onProgress: (sweep: Sweep) => void;
}

export interface Report {
  /** The number of operations recorded. */
  readonly operations: number;
  /** The number of events acknowledged during the recording. */
  readonly acked: number;
  readonly sweeps: readonly Sweep[];
}

/** The results for disks of one kind. */
export interface Sweep {
  readonly disk: Honesty;
  states: number;
  /** The number of disks on which the whole daemon was started. */
  started: number;
  /** The number of different disks among the states. */
  disks: number;
  /** The number of acknowledgements before the cuts, over all states. */
  promised: number;
  /** The number of states with any fault. */
  bad: number;
  lost: number;
  /**
   * The number of acknowledged events that a lying disk lacked when only the store was opened, or when the daemon was
   * started.
   */
  dropped: { store: number; daemon: number };
  /** The ids of those whose loss was not noticed. */
  readonly unseen: string[];
  readonly violations: string[];
  /** The directories of states with faults. */
  readonly kept: string[];
}

export async function run(options: PowerOptions): Promise<Report> {
  const { dir, recorder, seconds, seed } = options;
  const receivers = new Receivers(new Random(seed + 1));
  try {
    const session = await record({ dir, recorder, seconds, seed, receivers });
    const sweeps: Sweep[] = [];
    for (const disk of ["honest", "normal", "swallow"] as const) {
      const sweep = await sweepOver(session, disk, options);
      if (disk === "honest") sweep.violations.push(...receivers.wrong);
      sweeps.push(sweep);
    }
    const acked = session.answered.filter(({ kind }) => kind === "event").length;
    return { operations: session.operations.length, acked, sweeps };
  } finally {
    receivers.close();
  }
}

/**
 * True if nothing is wrong on honest disks, and both ways of checking notice the loss of everything that the others
 * dropped. A check that never notices anything must not pass.
 */
export function isGood({ sweeps }: Report): boolean {
  return sweeps.every(({ disk, violations, promised, dropped, unseen }) =>
    disk === "honest"
      ? violations.length === 0 && promised > 0
      : dropped.store > 0 && dropped.daemon > 0 && unseen.length === 0,
  );
}

async function sweepOver(session: Session, honesty: Honesty, options: PowerOptions): Promise<Sweep> {
  const { dir, states, controls, seed, onProgress } = options;
  const sweep: Sweep = {
    disk: honesty,
    states: 0,
    started: 0,
    disks: 0,
    promised: 0,
    bad: 0,
    lost: 0,
    dropped: { store: 0, daemon: 0 },
    unseen: [],
    violations: [],
    kept: [],
  };
  const random = new Random(seed + 2);
  const cuts =
    honesty === "honest"
      ? drawCuts(session.operations, states, random)
      : drawControls(session, { disk: honesty, count: controls, random });
  const lanes = availableParallelism();
  const names = new Set<string>();
  const each = Array.from({ length: lanes }, (_, lane) => cuts.filter((_cut, at) => at % lanes === lane));
  await Promise.all(
    each.map((own, lane) => new Lane({ session, sweep, names, onProgress }).run(own, join(dir, `${honesty}-${lane}`))),
  );
  return sweep;
}

interface LaneParts {
  readonly session: Session;
  readonly sweep: Sweep;
  /** The names of the disks that all lanes have seen. */
  readonly names: Set<string>;
  readonly onProgress: (sweep: Sweep) => void;
}

/** Applies cuts in their order, so that the disk is built once and continued from one cut to the next. */
class Lane {
  readonly #session: Session;
  readonly #sweep: Sweep;
  readonly #names: Set<string>;
  readonly #onProgress: (sweep: Sweep) => void;
  #child: ChildProcess | null = null;
  #answer: (verdict: Verdict) => void = () => {};

  constructor({ session, sweep, names, onProgress }: LaneParts) {
    this.#session = session;
    this.#sweep = sweep;
    this.#names = names;
    this.#onProgress = onProgress;
  }

  async run(cuts: readonly Cut[], dir: string): Promise<void> {
    const { root, operations } = this.#session;
    const listened = new Set(surviving(operations, this.#sweep.disk));
    const disk = new Disk(root);
    let applied = 0;
    for (const [number, cut] of cuts.entries()) {
      for (; applied < cut.after; applied++) {
        const operation = operations[applied]!;
        if (listened.has(operation)) disk.apply(operation);
      }
      const found = disk.after(cut.loss, new Random(cut.seed));
      const name = nameOf(found);
      this.#sweep.disks = this.#names.add(name).size;
      const home = join(dir, String(number));
      mkdirSync(home, { recursive: true });
      writeTo(join(home, "disk"), found);
      this.#note(cut, home, await this.#check(this.#expectation(cut, home, name)));
    }
    this.#child?.kill("SIGKILL");
  }

  #expectation(cut: Cut, home: string, name: string): Expectation {
    const { operations, answered, succeeded } = this.#session;
    const end = operations[cut.after - 1]!.end;
    const promised: Promised[] = answered.filter((one) => one.end <= end);
    return { disk: name, starts: cut.starts, home, data: join(home, "disk", DATA), promised, succeeded };
  }

  async #check(expectation: Expectation): Promise<Verdict> {
    this.#sweep.promised += expectation.promised.length;
    const verdict = new Promise<Verdict>((resolve) => (this.#answer = resolve));
    this.#child ??= this.#begin();
    const child = this.#child;
    child.send(expectation);
    const stuck = setTimeout(() => child.kill("SIGKILL"), STUCK_MS);
    const said = await verdict;
    clearTimeout(stuck);
    return said;
  }

  #begin(): ChildProcess {
    const child = watchOver(fork(REOPEN, { stdio: ["ignore", "ignore", "inherit", "ipc"] }));
    child.on("message", (verdict: Verdict) => this.#answer(verdict));
    child.once("exit", () => {
      this.#child = null;
      this.#answer({ lost: [], wrong: ["the daemon ended, or hung, on this disk"] });
    });
    return child;
  }

  #note({ after, loss, starts, dropped }: Cut, home: string, { lost, wrong }: Verdict): void {
    const sweep = this.#sweep;
    sweep.states++;
    sweep.lost += lost.length;
    if (starts) sweep.started++;
    sweep.dropped[starts ? "daemon" : "store"] += dropped.length;
    sweep.unseen.push(...dropped.filter((id) => !lost.some((text) => text.includes(id))));
    if (lost.length + wrong.length === 0) rmSync(home, { recursive: true });
    else {
      sweep.bad++;
      sweep.kept.push(home);
      const where = `cut after operation ${after}, unsynced ${loss}`;
      sweep.violations.push(
        ...lost.map((text) => `${where}: lost ${text}`),
        ...wrong.map((text) => `${where}: ${text}`),
      );
    }
    this.#onProgress(sweep);
  }
}
