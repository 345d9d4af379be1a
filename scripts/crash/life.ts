/**
 * One life of a data directory: its first start, a few rounds of load, kill -9 and restart, then quiet, the checks and
 * a clean stop.
 */
import { cpSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "../../test/sim/random.ts";
import type { Api } from "./api.ts";
import { DaemonProcess, dataDir, type End, type Home } from "./daemon.ts";
import { databaseFaults } from "./database.ts";
import type { DriverEntry, ReceiverEntry } from "./entries.ts";
import { historyOf } from "./history.ts";
import { Journal, monotonic, readJournal } from "./journal.ts";
import { judge, noFindings, type Findings } from "./judge.ts";
import { drawMoment, type Moment } from "./kills.ts";
import { Load, type Publish } from "./load.ts";
import { journalOf, ReceiversProcess } from "./receivers-process.ts";
import { show, type Shown } from "./shown.ts";
import { freeKeys } from "./order.ts";
import { ENDPOINTS, registrationOf } from "./site.ts";

export type Plant = "none" | "lose-acks" | "false-answers";

export interface LifeOptions {
  readonly home: Home;
  readonly seed: number;
  readonly rounds: number;
  readonly plant: Plant;
  /** The longest time that the first start may take, in milliseconds. */
  readonly firstStartUpMs: number;
  /** A start that takes longer is a violation. */
  readonly startUpLimitMs: number;
}

export interface LifeReport {
  readonly rounds: number;
  readonly kills: number;
  readonly startUpsMs: readonly number[];
  readonly failedOpens: readonly string[];
  readonly findings: Findings;
}

/** The kill of a round comes at this time at the latest. */
const ROUND_LIMIT_MS = 4000;
/** These waits end as soon as they can. The limits find what hangs, and must not fail a slow machine. */
const QUIET_LIMIT_MS = 900_000;
const STILL_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 60_000;
const POLL_MS = 40;
/** The part of the rounds that begin with a clean stop. */
const CLEAN_STOPS = 0.25;

/** This life cannot go on, and `failedOpens` or `wrong` says why. */
class Over extends Error {}

export async function runLife(options: LifeOptions): Promise<LifeReport> {
  const life = await Life.begin(options);
  return life.run();
}

class Life {
  readonly #options: LifeOptions;
  /** Used only for the kills, because timing decides how often the load draws numbers. */
  readonly #moments: Random;
  readonly #random: Random;
  readonly #receivers: ReceiversProcess;
  readonly #journal: Journal;
  readonly #replayed = new Set<string>();
  readonly #again: Publish[] = [];
  readonly #startUpsMs: number[] = [];
  readonly #failedOpens: string[] = [];
  readonly #wrong: string[] = [];
  #daemon: DaemonProcess | null = null;
  #api!: Api;
  #generation = 0;
  #numbers = 0;
  #rounds = 0;
  #kills = 0;

  private constructor(options: LifeOptions, parts: { receivers: ReceiversProcess; journal: Journal }) {
    this.#options = options;
    this.#moments = new Random(options.seed);
    this.#random = new Random(options.seed + 1);
    this.#receivers = parts.receivers;
    this.#journal = parts.journal;
  }

  static async begin(options: LifeOptions): Promise<Life> {
    mkdirSync(options.home.dir, { recursive: true });
    const journal = await Journal.open(driverJournalOf(options.home));
    const receivers = await ReceiversProcess.start(options.home, options.seed, options.plant);
    return new Life(options, { receivers, journal });
  }

  async run(): Promise<LifeReport> {
    const { rounds } = this.#options;
    let shown: Shown | null = null;
    try {
      // The next start must finish a first start that was cut short.
      if (this.#moments.chance(1 / 3)) await this.#startAndKill(this.#options.firstStartUpMs * this.#moments.next());
      await this.#open();
      await this.#register();
      while (this.#rounds < rounds) {
        // After a few deaths in a row the daemon is in careful mode, which is rare in practice. A clean stop ends that
        // mode.
        if (this.#moments.chance(CLEAN_STOPS)) await this.#restart();
        await this.#round();
      }
      await freeKeys(this.#api, this.#journal);
      await this.#untilQuiet();
      shown = await show(this.#api);
      const { code, signal } = await stop(this.#daemon!);
      if (code === 0) this.#wrong.push(...databaseFaults(this.#options.home));
      else this.#wrong.push(`the last stop ended with ${code ?? signal}`);
    } catch (error) {
      // An unexpected error is a finding as well, so the directory is kept for more information.
      if (!(error instanceof Over)) this.#wrong.push(error instanceof Error ? error.stack! : String(error));
    }
    this.#daemon?.kill();
    await this.#daemon?.ended;
    await this.#receivers.stop();
    await this.#journal.close();
    return await this.#report(shown);
  }

  async #report(shown: Shown | null): Promise<LifeReport> {
    const driver = [...readJournal<DriverEntry>(driverJournalOf(this.#options.home))];
    const receivers = readJournal<ReceiverEntry>(journalOf(this.#options.home));
    const findings = shown === null ? noFindings() : judge(historyOf(driver, receivers), shown);
    findings.wrong.push(...this.#wrong);
    return {
      rounds: this.#rounds,
      kills: this.#kills,
      startUpsMs: this.#startUpsMs,
      failedOpens: this.#failedOpens,
      findings,
    };
  }

  async #round(): Promise<void> {
    const moment = drawMoment(this.#moments);
    const process = this.#daemon!;
    const acks = moment.kind === "ack" ? moment.nth : moment.kind === "start-up" || moment.kind === "storm" ? 5 : 0;
    let seen = 0;
    const load = this.#load(() => ++seen === acks && process.kill());
    const cancel = await this.#prepare(moment, process);
    const killed = await this.#fell(process, moment.kind === "stop");
    cancel();
    await load.stop();
    if (moment.kind === "start-up") await this.#startAndKill(this.#startUpsMs.at(-1)! * moment.part);
    if (moment.kind === "storm") await this.#startAndKill(moment.ms, killed);
    this.#rounds++;
    if (this.#options.plant === "lose-acks") this.#loseAcks();
    await this.#open();
  }

  /** Stops the daemon cleanly under load, and starts it again. */
  async #restart(): Promise<void> {
    const process = this.#daemon!;
    const load = this.#load(() => {});
    await sleep(this.#moments.between(20, 150));
    const { code, signal } = await stop(process);
    if (code !== 0) this.#wrong.push(`a clean stop ended with ${code ?? signal}`);
    await this.#fell(process, true);
    await load.stop();
    await this.#open();
  }

  #load(onAck: () => void): Load {
    const { ended } = this.#daemon!;
    return new Load({
      ended,
      api: this.#api,
      generation: this.#generation,
      journal: this.#journal,
      random: this.#random,
      next: () => ++this.#numbers,
      replayed: this.#replayed,
      again: this.#again,
      onAck,
    });
  }

  /** Arranges the kills that no acknowledgement triggers. The returned function cancels them. */
  async #prepare(moment: Moment, process: DaemonProcess): Promise<() => void> {
    const timers = [setTimeout(() => process.kill(), ROUND_LIMIT_MS)];
    if (moment.kind === "time") timers.push(setTimeout(() => process.kill(), moment.ms));
    if (moment.kind === "request") await this.#receivers.ask({ ask: "aim", aim: moment });
    if (moment.kind === "stop") {
      const afterMs = this.#moments.between(20, 200);
      timers.push(setTimeout(() => process.terminate(), afterMs));
      timers.push(setTimeout(() => process.kill(), afterMs + moment.ms));
    }
    return () => timers.forEach((timer) => clearTimeout(timer));
  }

  /** Starts the daemon, and requires it to listen. A slow start is retried, because the machine may be busy. */
  async #open(isRepeated = false): Promise<void> {
    const process = await this.#launch();
    const startUpMs = await process.untilListening();
    if (startUpMs === null) throw this.#failedOpen(await process.ended);
    this.#startUpsMs.push(startUpMs);
    this.#api = process.api();
    if (startUpMs <= this.#options.startUpLimitMs) return;
    if (isRepeated) {
      this.#wrong.push(`start ${this.#generation} took ${Math.round(startUpMs)} ms, and the one before it too long`);
      return;
    }
    process.kill();
    await this.#fell(process, false);
    await this.#open(true);
  }

  /** @param since a monotonic time; now if absent */
  async #startAndKill(afterMs: number, since = monotonic()): Promise<void> {
    const process = await this.#launch();
    const timer = setTimeout(() => process.kill(), Math.max(0, since + afterMs - monotonic()));
    await this.#fell(process, false);
    clearTimeout(timer);
  }

  #failedOpen({ code, signal }: End): Over {
    this.#failedOpens.push(`start ${this.#generation} ended with ${code ?? signal} instead of listening`);
    return new Over();
  }

  async #launch(): Promise<DaemonProcess> {
    this.#generation++;
    await this.#receivers.ask({ ask: "generation", generation: this.#generation });
    const process = DaemonProcess.start(this.#options.home);
    this.#daemon = process;
    await this.#receivers.ask({ ask: "daemon", pid: process.pid });
    return process;
  }

  /** Waits for the end that was arranged, and returns its time. */
  async #fell(process: DaemonProcess, mayStop: boolean): Promise<number> {
    const end = await process.ended;
    const { code, signal, at } = end;
    await this.#receivers.ask({ ask: "daemon", pid: null });
    await this.#receivers.ask({ ask: "aim", aim: null });
    await this.#journal.append({ kind: "ended", generation: this.#generation, at, clean: code === 0 });
    if (signal === "SIGKILL") this.#kills++;
    else if (!process.hasListened) throw this.#failedOpen(end);
    else if (!mayStop || code !== 0) {
      this.#wrong.push(`process ${this.#generation} ended by itself with ${code ?? signal}`);
      throw new Over();
    }
    return at;
  }

  async #register(): Promise<void> {
    const secrets: Record<string, string> = {};
    for (const { name } of ENDPOINTS) {
      const url = `http://127.0.0.1:${this.#receivers.port}/${name}`;
      const response = await this.#api.post("/v1/webhooks", registrationOf(name, url));
      const { id, signing_secret: secret } = (await response.json()) as { id: string; signing_secret: string };
      if (response.status !== 201) throw new Error(`a registration was answered ${response.status}`);
      await this.#journal.append({ kind: "endpoint", id, name });
      secrets[name] = secret;
    }
    await this.#receivers.ask({ ask: "secrets", secrets });
  }

  /** Waits until nothing is pending. If no request has come for long, pending deliveries are judged as they are. */
  async #untilQuiet(): Promise<void> {
    const deadline = monotonic() + QUIET_LIMIT_MS;
    let cameAt = monotonic();
    let came = 0;
    while ((await this.#api.hasPending()) && monotonic() < Math.min(deadline, cameAt + STILL_LIMIT_MS)) {
      const { size } = statSync(journalOf(this.#options.home));
      if (size > came) cameAt = monotonic();
      came = size;
      await sleep(POLL_MS);
    }
  }

  /**
   * Simulates a disk that lied, to show that the check notices: after the last kill, the directory is as it was after
   * the first.
   */
  #loseAcks(): void {
    const data = dataDir(this.#options.home);
    const copy = join(this.#options.home.dir, "copy");
    if (!existsSync(copy)) cpSync(data, copy, { recursive: true, filter: (file) => !file.endsWith(".sock") });
    if (this.#rounds < this.#options.rounds) return;
    rmSync(data, { recursive: true });
    cpSync(copy, data, { recursive: true });
  }
}

async function stop(process: DaemonProcess): Promise<End> {
  const stuck = setTimeout(() => process.kill(), STOP_LIMIT_MS);
  process.terminate();
  const end = await process.ended;
  clearTimeout(stuck);
  return end;
}

function driverJournalOf(home: Home): string {
  return join(home.dir, "driver.jsonl");
}
