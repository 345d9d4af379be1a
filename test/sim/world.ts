/**
 * Runs one seed: an application publishes, operators replay and rotate secrets, receivers misbehave, the process dies,
 * the disk fills up, and the clock is set. Then everything is healed and has time to end. The invariants are checked
 * along the way and at the end. The code under test is real, and only time, chance and the network are simulated.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReplayScope } from "../../src/store/store.ts";
import { Addresses } from "./addresses.ts";
import { Application } from "./application.ts";
import { Backups } from "./backups.ts";
import { Brake } from "./brake.ts";
import { Bulk } from "./bulk.ts";
import { OwnTypes } from "./choices.ts";
import { VirtualClock } from "./clock.ts";
import { Endpoints } from "./endpoints.ts";
import { Hands } from "./hands.ts";
import { heal, somethingHappens } from "./happenings.ts";
import { Holds } from "./holds.ts";
import {
  checkAttempts,
  checkEnd,
  checkKeys,
  checkOneAtATime,
  checkOrder,
  StatusWatch,
  type Acked,
  type Run,
} from "./invariants.ts";
import { LADDER } from "./ladder.ts";
import { drawKinds, type Kinds } from "./kinds.ts";
import { MemoryWatch } from "./memory.ts";
import { PLANTS, type Plant, type PlantName } from "./plants.ts";
import type { SeenAttempt } from "./network.ts";
import { Process, type Faults } from "./process.ts";
import { Random } from "./random.ts";
import { Rotations } from "./rotations.ts";
import { newStoreIn } from "./template.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const FAULTY_MS = 60_000;
/** The maximum number of pending deliveries of a tenant, if the seed has such a limit. */
const SHARE = 40;
const RETENTION_MS = 20_000;
const LADDER_MS = LADDER.reduce((sum, delay) => sum + delay, 0);

export interface Report {
  readonly seed: number;
  readonly violations: readonly string[];
  /** The same seed gives the same trace. */
  readonly trace: string;
  readonly acked: number;
  readonly crashes: number;
  readonly attempts: number;
  readonly faults: readonly string[];
}

export async function simulate(seed: number, plant: PlantName = "none", sweeps = true): Promise<Report> {
  const world = new World(seed, PLANTS[plant], sweeps);
  const unpatch = PLANTS[plant].patch?.();
  const unwatch = world.memory.begin();
  try {
    return await world.run();
  } catch (error) {
    // A broken run cannot even be checked.
    world.violations.push(`the run broke off: ${error instanceof Error ? error.stack : String(error)}`);
    return world.report();
  } finally {
    unwatch();
    unpatch?.();
    await world.close();
  }
}

export class World implements Run {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly endpoints: Endpoints;
  readonly attempts: SeenAttempt[] = [];
  readonly violations: string[] = [];
  process: Process | null = null;
  crashes = 0;
  clockSteps = 0;
  /** True once a write failed because of the disk. */
  diskWasFull = false;
  poisoned = false;
  readonly faults: Faults = {
    crashAtAwait: 0,
    disk: { full: false, commits: 0, fatal: false, deaths: 0 },
    unreadable: false,
    cutOff: false,
    short: false,
  };
  readonly #seed: number;
  readonly #plant: Plant;
  readonly #sweeps: boolean;
  readonly #root = mkdtempSync(join(tmpdir(), "webhookd-sim-"));
  readonly #trace = createHash("sha256");
  readonly watch = new StatusWatch(this.violations);
  readonly kinds: Kinds;
  readonly rotations: Rotations;
  readonly application: Application;
  readonly holds: Holds;
  readonly hands: Hands;
  readonly bulk: Bulk;
  readonly backups: Backups;
  readonly addresses: Addresses;
  /** Chance for the changes of addresses. */
  readonly ofAddresses: Random;
  /** Chance for patterns, filters and types. */
  readonly ofChoices: Random;
  readonly ownTypes: OwnTypes;
  /** Chance for order by key. */
  readonly ofOrders: Random;
  readonly replayed = new Set<string>();
  readonly memory: MemoryWatch;
  readonly brake = new Brake(() => this.clock.now());
  /** Chance for the newest kinds, so that old seeds still make the same runs. */
  readonly ofUpkeep: Random;
  #ending: Promise<void> = Promise.resolve();

  constructor(seed: number, plant: Plant, sweeps: boolean) {
    this.#seed = seed;
    this.#plant = plant;
    this.#sweeps = sweeps;
    const { clock } = this;
    const now = () => clock.now();
    const monotonic = () => clock.monotonic;
    this.random = new Random(seed);
    this.rotations = new Rotations(this.random, now);
    this.holds = new Holds(this.random, now, monotonic, plant.unheard);
    this.endpoints = new Endpoints(monotonic, ({ secrets }) => {
      const { crash, crashAtAwait, disk, commits } = this.kinds;
      secrets.untroubled = !crash && !crashAtAwait && !disk && !commits;
      secrets.timely = !this.kinds.clock;
    });
    this.application = new Application({
      clock,
      random: this.random,
      process: () => this.process,
      endpoints: this.endpoints,
      onAcked: ({ id }) => this.#trace.update(`ack ${id}\n`),
      violations: this.violations,
    });
    const ofHands = new Random(seed + 1_000_003);
    this.hands = new Hands(ofHands, monotonic);
    this.ofUpkeep = new Random(seed + 2_000_003);
    this.bulk = new Bulk(this.ofUpkeep, monotonic);
    this.backups = new Backups(join(this.#root, "backups"), clock, this.ofUpkeep);
    this.ofAddresses = new Random(seed + 3_000_003);
    this.addresses = new Addresses(this.ofAddresses, monotonic, this.violations);
    this.ofChoices = new Random(seed + 4_000_003);
    this.ownTypes = new OwnTypes(this.ofChoices);
    this.ofOrders = new Random(seed + 5_000_003);
    const planted = plant === PLANTS.none ? null : (plant.kinds ?? {});
    this.kinds = drawKinds({ ...this, ofHands }, planted);
    this.endpoints.ordered = this.application.ordered = this.kinds.orders;
    this.memory = new MemoryWatch(this.kinds, monotonic, this.violations);
  }

  get acked(): readonly Acked[] {
    return this.application.acked;
  }

  async run(): Promise<Report> {
    await newStoreIn(join(this.#root, "0"));
    await this.#boot();
    this.diskWasFull = this.kinds.commits;
    await this.#registerAll();
    this.faults.crashAtAwait = this.kinds.crashAtAwait ? 0.002 : 0;
    this.faults.disk.fatal = this.kinds.crash || this.kinds.crashAtAwait;
    this.faults.disk.deaths = this.kinds.crashAtAwait ? 0.002 : 0;
    this.faults.disk.commits = this.kinds.commits ? this.random.pick([0.01, 0.05]) : 0;
    const lasts = this.#plant.lasts ?? FAULTY_MS;
    for (let at = 0; at < lasts; at += this.random.between(100, 3000)) this.clock.at(at, () => somethingHappens(this));
    await this.#runUntil(lasts);
    heal(this);
    await this.#runUntil(lasts + LADDER_MS + (this.kinds.deadly ? 300_000 : 60_000));
    await this.#checkAll();
    if (this.kinds.operators) await this.#replayWhatFailed();
    if (this.kinds.shares && this.process !== null) {
      const checked = this.application.checkShare(this.process.store, SHARE);
      await this.#runUntil(this.clock.monotonic + 100);
      await checked;
    }
    for (const receiver of this.endpoints.receivers.values()) this.violations.push(...receiver.violations);
    return this.report();
  }

  report(): Report {
    return {
      seed: this.#seed,
      violations: this.violations,
      trace: this.#trace.copy().digest("hex").slice(0, 16),
      acked: this.acked.length,
      crashes: this.crashes,
      attempts: this.attempts.length,
      faults: Object.entries(this.kinds).flatMap(([name, on]) => (on ? [name] : [])),
    };
  }

  async close(): Promise<void> {
    await this.#ending;
    await this.process?.stop();
    rmSync(this.#root, { recursive: true, force: true });
  }

  async #boot(): Promise<void> {
    this.process = await Process.open({
      dir: join(this.#root, String(this.crashes)),
      clock: this.clock,
      random: this.random,
      ladder: this.#plant.ladder ?? LADDER,
      faults: this.faults,
      plant: this.#plant,
      sweeps: this.#sweeps,
      threads: this.kinds.threads ? 2 : 0,
      maxPendingPerTenant: this.kinds.shares ? SHARE : 0,
      runsJobs: this.kinds.jobs,
      retention: this.kinds.prunes ? RETENTION_MS : 0,
      addresses: this.kinds.addresses ? this.addresses : null,
      startBackup: this.backups.start,
      violations: this.violations,
      receiverOf: (url) => this.endpoints.receivers.get(url)!,
      onCrash: () => this.crash(),
      onAttempt: (attempt) => {
        this.attempts.push(attempt);
        this.#checkOpen(attempt);
        if (this.brake.holds) this.violations.push(`V8: ${attempt.delivery} was sent while everything was paused`);
        this.#trace.update(`${attempt.startedAt} ${attempt.delivery} ${attempt.number}\n`);
      },
    });
    this.process.start();
  }

  crash(): void {
    const process = this.process;
    if (process === null) return;
    this.#checkSweep(process);
    this.process = null;
    this.brake.onCrash();
    this.crashes++;
    const dir = join(this.#root, String(this.crashes));
    this.#ending = process.crash(dir);
    if (this.kinds.restores && this.ofUpkeep.chance(0.5)) this.#ending = this.#ending.then(() => this.#restore(dir));
    // The process starts again after a while, as under a supervisor. Opening the store takes no virtual time.
    this.clock.at(this.clock.monotonic + this.random.between(0, 3000), () => {
      this.#ending = this.#ending.then(() => this.#boot());
    });
  }

  async #restore(dir: string): Promise<void> {
    const then = await this.backups.restore(dir);
    if (then === null) return;
    this.application.restored(then);
    this.watch.forget();
    this.brake.restored();
    this.clock.at(this.clock.monotonic + this.ofUpkeep.between(2000, 10_000), () => {
      if (this.process !== null && this.brake.holds) unawaited(this.brake.resume(this.process));
    });
  }

  /** Heals dead receivers, and replays what failed. */
  async #replayWhatFailed(): Promise<void> {
    for (const receiver of this.endpoints.receivers.values()) receiver.behaviour = "ok";
    for (const { id, deadly } of this.acked) {
      // The deadly event would fail again, and need the time of its whole ladder.
      if (deadly) continue;
      this.clock.at(this.clock.monotonic + this.random.between(0, 5000), () => this.replay(id, {}));
    }
    await this.#runUntil(this.clock.monotonic + 120_000);
    await this.#checkAll();
  }

  async #checkAll(): Promise<void> {
    if (this.process === null) {
      this.violations.push("the process did not come back");
      return;
    }
    await checkEnd(this, this.process.store);
    await checkAttempts(this, this.process.store);
    await this.application.check(this.process.store);
    checkOneAtATime(this);
    if (this.kinds.orders) await checkOrder(this, this.process.store);
    this.violations.push(...(await this.hands.check(this.process.store, this)));
    this.violations.push(...(await this.bulk.check(this.process.store)));
    this.violations.push(...(await this.ownTypes.check(this.process.store)));
    await checkKeys(this, this.process.store);
    this.#checkSweep(this.process);
    this.memory.check();
  }

  /**
   * V8: once a deletion or a disable was answered, nothing starts, except attempts by hand that were requested since
   * the disable.
   */
  #checkOpen({ delivery, url, startedAt }: SeenAttempt): void {
    const [endpoint, { goneAt }] = this.endpoints.of(url);
    if (goneAt !== null && goneAt < startedAt)
      this.violations.push(`V8: ${delivery} was sent to ${url}, which is deleted`);
    const since = this.holds.heldSince(endpoint);
    if (since === null || this.hands.lastAskedAt(delivery) >= since) return;
    this.violations.push(`V8: ${delivery} was sent to ${url}, which is disabled`);
  }

  /** V13: memory never loses a delivery of the store, so the sweep finds nothing. */
  #checkSweep({ dispatcher }: Process): void {
    if (dispatcher.lost > 0) this.violations.push(`V13: the sweep found ${dispatcher.lost} lost deliveries`);
  }

  /** Runs one item after another, and waits each time until all its effects have ended. */
  async #runUntil(instant: number): Promise<void> {
    while (this.clock.runNext(instant)) {
      await this.#ending;
      await this.backups.rest;
      await new Promise(setImmediate);
    }
  }

  async #registerAll(): Promise<void> {
    const count = this.random.between(2, 5);
    for (let at = 0; at < count; at++) {
      const added = this.endpoints.register(this.process!, this.random, this.kinds.choices ? this.ofChoices : null);
      await this.#runUntil(this.clock.monotonic + 20);
      await added;
    }
  }

  replay(id: string, scope: ReplayScope): void {
    const process = this.process;
    if (process === null) return;
    // It may be replayed although nobody hears of it.
    this.replayed.add(id);
    process.store.events.replay(null, id, scope, this.clock.now()).then(
      (replay) => {
        if (replay.result !== "replayed") return;
        this.watch.replayed(id);
        process.dispatcher.replayed(replay.waiting);
      },
      () => {},
    );
  }
}
