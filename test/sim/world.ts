/**
 * One seed: an application publishes, operators replay and rotate secrets, receivers misbehave, the process dies, the disk
 * fills, the clock is set; then everything is healed and has time to end. What must hold is checked along the way and
 * at the end. The code under test is the real one; only time, chance and the network are simulated.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "../../src/domain/id.ts";
import { newSigningSecret } from "../../src/domain/secret.ts";
import type { ReplayScope } from "../../src/store/store.ts";
import { newEndpoint } from "../store/fixtures.ts";
import { Application, TENANTS, TYPES } from "./application.ts";
import { Brake } from "./brake.ts";
import { VirtualClock } from "./clock.ts";
import { Hands } from "./hands.ts";
import { Holds } from "./holds.ts";
import { checkEnd, checkGaps, checkOneAtATime, StatusWatch, type Acked, type Run } from "./invariants.ts";
import { LADDER } from "./ladder.ts";
import { PLANTS, type Kinds, type Plant, type PlantName } from "./plants.ts";
import { DEADLY, TIMEOUT_MS, type SeenAttempt } from "./network.ts";
import { Process, type Faults } from "./process.ts";
import { Random } from "./random.ts";
import { BEHAVIOURS, SimReceiver } from "./receiver.ts";
import { Rotations } from "./rotations.ts";
import { newStoreIn } from "./template.ts";

const FAULTY_MS = 60_000;
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
  try {
    return await world.run();
  } catch (error) {
    // Of what was lost not even the checks can be made.
    world.violations.push(`the run broke off: ${error instanceof Error ? error.stack : String(error)}`);
    return world.report();
  } finally {
    unpatch?.();
    await world.close();
  }
}

export class World implements Run {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly receivers = new Map<string, SimReceiver>();
  readonly endpoints = new Map<string, { url: string; tenant: string; types: readonly string[]; deleted: boolean }>();
  readonly attempts: SeenAttempt[] = [];
  readonly violations: string[] = [];
  process: Process | null = null;
  crashes = 0;
  clockSteps = 0;
  /** Something could not be written when it was to be. */
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
  readonly #watch = new StatusWatch(this.violations);
  /** Which kinds of fault this seed has at all: few at a time find what all at once would hide. */
  readonly kinds: Kinds;
  readonly #rotations: Rotations;
  readonly #application: Application;
  readonly holds: Holds;
  readonly hands: Hands;
  readonly #brake = new Brake(() => this.clock.now());
  #ending: Promise<void> = Promise.resolve();

  constructor(seed: number, plant: Plant, sweeps: boolean) {
    this.#seed = seed;
    this.#plant = plant;
    this.#sweeps = sweeps;
    this.random = new Random(seed);
    this.#rotations = new Rotations(this.random, () => this.clock.now());
    this.holds = new Holds(
      this.random,
      () => this.clock.now(),
      () => this.clock.monotonic,
      plant.unheard,
    );
    this.#application = new Application({
      clock: this.clock,
      random: this.random,
      process: () => this.process,
      subscribers: (draft) => this.#subscribers(draft),
      onAcked: ({ id }) => this.#trace.update(`ack ${id}\n`),
      violations: this.violations,
    });
    const ofHands = new Random(seed + 1_000_003);
    this.hands = new Hands(ofHands, () => this.clock.monotonic);
    const kind = () => this.random.chance(0.5);
    this.kinds = {
      crash: kind(),
      crashAtAwait: kind(),
      disk: kind(),
      commits: kind(),
      clock: kind(),
      receivers: kind(),
      operators: kind(),
      deadly: this.random.chance(0.05),
      bursts: this.random.chance(0.3),
      rotations: kind(),
      outages: this.random.chance(0.3),
      threads: kind(),
      threadDeaths: this.random.chance(0.3),
      holds: this.random.chance(0.3),
      hands: plant === PLANTS.none && ofHands.chance(0.5),
      pauses: plant === PLANTS.none && ofHands.chance(0.2),
      shortages: plant === PLANTS.none && ofHands.chance(0.2),
      ...plant.kinds,
    };
  }

  get acked(): readonly Acked[] {
    return this.#application.acked;
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
    for (let at = 0; at < lasts; at += this.random.between(100, 3000))
      this.clock.at(at, () => this.#somethingHappens());
    await this.#runUntil(lasts);
    this.#heal();
    await this.#runUntil(lasts + LADDER_MS + (this.kinds.deadly ? 300_000 : 60_000));
    await this.#checkAll();
    if (this.kinds.operators) await this.#replayWhatFailed();
    for (const receiver of this.receivers.values()) this.violations.push(...receiver.violations);
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

  /** A receiver that never answers 2xx, so that some deliveries fail for good. */
  isDead(url: string): boolean {
    return url.endsWith("dead");
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
      receiverOf: (url) => this.receivers.get(url)!,
      onCrash: () => this.#crash(),
      onAttempt: (attempt) => {
        this.attempts.push(attempt);
        this.#checkHeld(attempt);
        if (this.#brake.holds) this.violations.push(`V8: ${attempt.delivery} was sent while everything was paused`);
        this.#trace.update(`${attempt.startedAt} ${attempt.delivery} ${attempt.number}\n`);
      },
    });
    this.process.start();
  }

  #crash(): void {
    const process = this.process;
    if (process === null) return;
    this.#checkSweep(process);
    this.process = null;
    this.#brake.onCrash();
    this.crashes++;
    const dir = join(this.#root, String(this.crashes));
    this.#ending = process.crash(dir);
    // Back after a while, as a supervisor does it; opening the store takes no virtual time.
    this.clock.at(this.clock.monotonic + this.random.between(0, 3000), () => {
      this.#ending = this.#ending.then(() => this.#boot());
    });
  }

  /** The dead come back, and what they missed is sent again. */
  async #replayWhatFailed(): Promise<void> {
    for (const receiver of this.receivers.values()) receiver.behaviour = "ok";
    for (const { id, deadly } of this.acked) {
      // It would need its ladder's time once more.
      if (deadly) continue;
      this.clock.at(this.clock.monotonic + this.random.between(0, 5000), () => this.#replay(id, {}));
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
    await checkGaps(this, this.process.store);
    await this.#application.check(this.process.store);
    checkOneAtATime(this);
    this.violations.push(...(await this.hands.check(this.process.store, this)));
    this.#checkSweep(this.process);
  }

  /** V8: nothing starts once a disable was answered, but for what was asked for by hand since. */
  #checkHeld({ delivery, url }: SeenAttempt): void {
    const [endpoint] = [...this.endpoints].find((one) => one[1].url === url)!;
    const since = this.holds.heldSince(endpoint);
    if (since === null || this.hands.lastAskedAt(delivery) >= since) return;
    this.violations.push(`V8: ${delivery} was sent to ${url}, which is disabled`);
  }

  /** V13: memory never loses what the disk owes, so the sweep finds nothing. */
  #checkSweep({ dispatcher }: Process): void {
    if (dispatcher.lost > 0) this.violations.push(`V13: the sweep found ${dispatcher.lost} lost deliveries`);
  }

  /** Runs event after event, letting everything that each has set going come to rest. */
  async #runUntil(instant: number): Promise<void> {
    while (this.clock.runNext(instant)) {
      await this.#ending;
      await new Promise(setImmediate);
    }
  }

  async #registerAll(): Promise<void> {
    const count = this.random.between(2, 5);
    for (let at = 0; at < count; at++) {
      const url = `https://receiver-${at}.example.com/${at === 0 && this.random.chance(0.4) ? "dead" : "hook"}`;
      const receiver = new SimReceiver(url, TIMEOUT_MS);
      const signingSecret = newSigningSecret(this.random.bytes(32));
      receiver.secrets.give(signingSecret, 0);
      const { crash, crashAtAwait, disk, commits } = this.kinds;
      receiver.secrets.untroubled = !crash && !crashAtAwait && !disk && !commits;
      receiver.secrets.timely = !this.kinds.clock;
      if (this.isDead(url)) receiver.behaviour = "error";
      this.receivers.set(url, receiver);
      const id = newId("ep", 0, this.random.bytes(10));
      const types = TYPES.filter(() => this.random.chance(0.6));
      const tenant = this.random.pick(TENANTS);
      this.endpoints.set(id, { url, tenant, types, deleted: false });
      const endpoint = newEndpoint({ id, tenant, url, events: types, signingSecret });
      const added = this.process!.store.endpoints.add(endpoint, 100, 0);
      await this.#runUntil(this.clock.monotonic + 20);
      await added;
    }
  }

  #somethingHappens(): void {
    const { random } = this;
    const kinds = this.kinds;
    if (this.process === null) return;
    if (random.chance(0.6)) this.#publish();
    if (kinds.crash && random.chance(0.03)) this.#crash();
    if (kinds.disk && random.chance(0.1)) {
      const { faults } = this;
      faults.disk.full = true;
      // Or there are worse troubles.
      faults.unreadable = random.chance(0.5);
      this.diskWasFull = true;
      this.clock.at(this.clock.monotonic + random.between(10, 5000), () => {
        faults.disk.full = faults.unreadable = false;
      });
    }
    if (kinds.outages && random.chance(0.05)) {
      this.faults.cutOff = true;
      this.clock.at(this.clock.monotonic + random.between(10, 20_000), () => (this.faults.cutOff = false));
    }
    if (kinds.shortages && random.chance(0.05)) {
      this.faults.short = true;
      this.clock.at(this.clock.monotonic + random.between(10, 10_000), () => (this.faults.short = false));
    }
    if (kinds.pauses && this.process !== null && random.chance(0.1)) this.#brake.toggle(this.process);
    if (kinds.threadDeaths && random.chance(0.1)) this.process?.killThread();
    if (kinds.clock && random.chance(0.03)) {
      this.clockSteps++;
      this.clock.step(random.pick([-1, 1]) * random.between(3000, 3_600_000));
    }
    if (kinds.receivers && random.chance(0.3)) {
      const receiver = random.pick([...this.receivers.values()]);
      if (!this.isDead(receiver.url)) receiver.behaviour = random.pick(BEHAVIOURS);
    }
    if (kinds.operators && random.chance(0.1) && this.process !== null) this.#operate();
    if (kinds.holds && random.chance(0.1) && this.process !== null) {
      this.holds.toggle(this.process, random.pick([...this.endpoints.keys()]));
    }
    if (kinds.hands && this.process !== null && this.acked.length > 0) {
      this.hands.touch(this.process, this.acked);
    }
    if (kinds.rotations && random.chance(0.3) && this.process !== null) {
      const [id, { url }] = random.pick([...this.endpoints]);
      this.#rotations.touch(this.process, id, this.receivers.get(url)!.secrets);
    }
  }

  #heal(): void {
    this.faults.crashAtAwait = 0;
    Object.assign(this.faults.disk, { full: false, commits: 0, deaths: 0 });
    this.faults.unreadable = this.faults.cutOff = this.faults.short = false;
    for (const receiver of this.receivers.values()) if (!this.isDead(receiver.url)) receiver.behaviour = "ok";
    this.#enableAll();
  }

  /** Again and again, because a process that dies answers nothing. */
  #enableAll(): void {
    const disabled = [...this.endpoints.keys()].filter((endpoint) => !this.holds.isOpen(endpoint));
    if (disabled.length === 0 && this.#brake.isOff) return;
    if (this.process !== null && !this.#brake.isOff) void this.#brake.resume(this.process);
    if (this.process !== null) for (const endpoint of disabled) this.holds.enable(this.process, endpoint);
    this.clock.at(this.clock.monotonic + 1000, () => this.#enableAll());
  }

  #publish(): void {
    const { random } = this;
    const burst = random.chance(0.2) ? random.between(2, this.kinds.bursts ? 100 : 20) : 1;
    this.#application.publish(burst, this.#poison());
  }

  /** One event of a deadly run kills whatever process sends it. */
  #poison(): string {
    if (!this.kinds.deadly || this.poisoned || this.clock.monotonic < 5000) return "";
    this.poisoned = true;
    return `,${DEADLY}`;
  }

  #subscribers({ tenant, type }: { readonly tenant: string; readonly type: string }): string[] {
    return [...this.endpoints]
      .filter(([, endpoint]) => !endpoint.deleted && endpoint.tenant === tenant && endpoint.types.includes(type))
      .map(([id]) => id);
  }

  #operate(): void {
    if (this.acked.length === 0) return;
    // Hardly anything has failed for good so far, but what was delivered may be sent again.
    if (this.random.chance(0.8)) this.#replay(this.random.pick(this.acked).id, { force: true });
    const { id } = this.random.pick(this.acked);
    // The replay may have been the end of it.
    this.process?.store.reads.getEvent(null, id).then(
      (event) => event !== null && this.#watch.saw(event),
      () => {},
    );
  }

  #replay(id: string, scope: ReplayScope): void {
    const process = this.process;
    if (process === null) return;
    process.store.events.replay(null, id, scope, this.clock.now()).then(
      (replay) => {
        if (replay.result !== "replayed") return;
        this.#watch.replayed(id);
        process.dispatcher.accept({ fresh: [], waiting: replay.waiting });
      },
      () => {},
    );
  }
}
