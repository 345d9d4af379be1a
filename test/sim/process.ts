import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { Signer, type SignedRequest } from "../../src/delivery/request.ts";
import { Sender } from "../../src/delivery/sender.ts";
import { noResponse } from "../../src/domain/attempt.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { Ladder } from "../../src/domain/ladder.ts";
import { silentLog } from "../../src/log.ts";
import { switchSecrets } from "../../src/upkeep/secret-switch.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import type { VirtualClock } from "./clock.ts";
import type { Plant } from "./plants.ts";
import type { Random } from "./random.ts";
import type { Exchange, SimReceiver } from "./receiver.ts";

export interface Faults {
  /** Chance, for each call of the store, that the process dies just before or just after it. */
  crashAtAwait: number;
  /** Commits fail with a full disk; so do reads of what is due, as on a disk with worse troubles. */
  diskFull: boolean;
  /** Nothing at all can be reached. */
  cutOff: boolean;
}

export interface ProcessParts {
  readonly dir: string;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly ladder: Ladder;
  readonly faults: Faults;
  readonly plant: Plant;
  /** Whether the dispatcher looks each minute for what it has lost. */
  readonly sweeps: boolean;
  readonly receiverOf: (url: string) => SimReceiver;
  readonly onAttempt: (attempt: SeenAttempt) => void;
  readonly onCrash: () => void;
}

/** One request as the network saw it. */
export interface SeenAttempt {
  readonly delivery: string;
  readonly number: number;
  readonly url: string;
  readonly startedAt: number;
  endedAt: number | null;
}

/** A tenth of the specified limit. */
export const TIMEOUT_MS = 1000;
const SWEEP_MS = 60_000;
/** A payload that kills the process when it is sent. */
export const DEADLY = '"deadly":true';

/** One life of the daemon: the real store on a real file, the real dispatcher and sender, a simulated network. */
export class Process {
  alive = true;
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly #parts: ProcessParts;
  readonly #real: Store;
  #beforePublish: string | null = null;

  private constructor(parts: ProcessParts, real: Store, clock: Clock) {
    this.#parts = parts;
    this.#real = real;
    this.store = this.#faulty(real);
    this.dispatcher = new Dispatcher({
      store: this.store,
      clock,
      ladder: parts.ladder,
      timeoutMs: TIMEOUT_MS,
      log: silentLog,
      // So little that it is full at every burst.
      heldBytes: 2 * 1024,
      onFault: (error) => {
        if (this.alive) throw error;
      },
      sending: (onEnded) =>
        new Sender({
          clock,
          onEnded: (ended) => onEnded([ended]),
          signer: (target) =>
            new Signer(target, { header: "X-Service-Signature", standardWebhooks: true, version: "0" }),
          open: (url) => ({ post: (request) => this.#post(url, request), abort() {}, close: async () => {} }),
          maxInFlight: 64,
          endpointMaxInFlight: 16,
        }),
    });
  }

  static async start(parts: ProcessParts): Promise<Process> {
    let alive = () => true;
    const clock = parts.clock.forProcess(() => alive());
    const { store } = await openStore({
      dir: parts.dir,
      create: true,
      diskFloor: 0,
      clock,
      random: (length) => parts.random.bytes(length),
      // The real one answers after a while of real time.
      statfs: async () => ({ bavail: 2 ** 30, bsize: 4096 }),
      onFault: (error) => {
        throw error;
      },
    });
    const process = new Process(parts, store, clock);
    alive = () => process.alive;
    const fault = (error: unknown) => {
      if (process.alive) throw error;
    };
    const refresh = (endpoint: string) => process.dispatcher.refresh(endpoint);
    const endOverlaps = () => switchSecrets({ store: process.store, clock, refresh });
    const tick = () => {
      process.dispatcher.tick();
      endOverlaps().catch(fault);
      clock.after(1000, tick);
    };
    clock.after(1000, tick);
    const sweep = () => {
      void process.dispatcher.sweep();
      clock.after(SWEEP_MS, sweep);
    };
    if (parts.sweeps) clock.after(SWEEP_MS, sweep);
    endOverlaps()
      .then(() => process.dispatcher.start())
      .catch(fault);
    return process;
  }

  /** Ends this life as kill -9 does, and leaves the files as they are now in `dir`. */
  async crash(dir: string): Promise<void> {
    this.alive = false;
    this.#copy(this.#beforePublish ?? this.#parts.dir, dir);
    await this.#real.close();
  }

  async stop(): Promise<void> {
    this.alive = false;
    await this.#real.close();
  }

  #copy(from: string, to: string): void {
    for (const name of ["webhookd.db", "webhookd.db-wal", "secret.key", "admin.key", "STORE"]) {
      cpSync(join(from, name), join(to, name), { force: true });
    }
  }

  #post(url: string, request: SignedRequest): Promise<Exchange["outcome"]> {
    const { clock, random, receiverOf, onAttempt } = this.#parts;
    return new Promise((resolve) => {
      if (!this.alive) return;
      if (Buffer.from(request.body).includes(DEADLY)) return this.#parts.onCrash();
      const seen: SeenAttempt = { ...labels(request), url, startedAt: clock.monotonic, endedAt: null };
      onAttempt(seen);
      if (this.#parts.faults.cutOff) {
        // No route, or no answer.
        const afterMs = random.chance(0.5) ? random.between(1, 5) : TIMEOUT_MS;
        const outcome = noResponse("timeout", "cut off", afterMs, { unanswered: true });
        this.#end(seen, afterMs, () => resolve(outcome));
        return;
      }
      const receiver = receiverOf(url);
      const { outcome, afterMs, processed } = receiver.answer(request, random, clock.now());
      // What reached the receiver happened, whether we live to hear of it or not.
      const heardAt = random.between(0, afterMs);
      if (processed !== null) clock.at(clock.monotonic + heardAt, () => receiver.processed.push(processed));
      this.#end(seen, afterMs, () => resolve(outcome));
    });
  }

  #end(seen: SeenAttempt, afterMs: number, report: () => void): void {
    const { clock } = this.#parts;
    clock.at(clock.monotonic + afterMs, () => {
      if (!this.alive) return;
      seen.endedAt = clock.monotonic;
      report();
    });
  }

  /** The store with this seed's faults in front of it: an await is where a process can die or a disk be full. */
  #faulty(real: Store): Store {
    const fails = new Set([
      "due",
      "publish",
      "record",
      "replay",
      "addEndpoint",
      "deleteEndpoint",
      "updateEndpoint",
      "rotateSecret",
      "completeRotation",
      "abandonRotation",
      "switchSecrets",
      "requestAttempt",
      "cancelEvent",
      "eraseEvent",
      "park",
      "shiftDue",
      "clockUnsettled",
      "clockSettled",
    ]);
    return new Proxy(real, {
      get: (target, name) => {
        const member = Reflect.get(target, name) as unknown;
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          const { undone, answers } = this.#parts.plant;
          if (undone !== undefined && name in undone) return Promise.resolve(undone[String(name)]);
          const planted = answers?.[String(name)] as ((answer: unknown, now: number) => unknown) | undefined;
          const real = () => (member as (...args: unknown[]) => unknown).apply(target, args);
          const result = planted === undefined ? real : async () => planted(await real(), this.#parts.clock.now());
          if (name === "publish" && this.#parts.plant.losesLastPublish) {
            this.#beforePublish = `${this.#parts.dir}-before`;
            this.#copy(this.#parts.dir, this.#beforePublish);
          }
          return name === "touchKey" || name === "state"
            ? result()
            : this.#call(result as () => Promise<unknown>, fails.has(String(name)));
        };
      },
    });
  }

  async #call(run: () => Promise<unknown>, fails: boolean): Promise<unknown> {
    const { random, faults, onCrash } = this.#parts;
    const dies = this.alive && random.chance(faults.crashAtAwait);
    const before = dies && random.chance(0.5);
    if (!this.alive || before) return this.#dead(before, onCrash);
    if (fails && faults.diskFull) throw new WebhookdError("storage_full", "the simulated disk is full");
    const result = await run();
    return !this.alive || dies ? this.#dead(dies && this.alive, onCrash) : result;
  }

  /** Nobody hears the answer any more. */
  #dead(now: boolean, onCrash: () => void): Promise<never> {
    if (now) onCrash();
    return new Promise(() => {});
  }
}

function labels({ headers }: SignedRequest): { delivery: string; number: number } {
  const value = (name: string) => headers[headers.indexOf(name) + 1]!;
  return { delivery: value("x-webhookd-delivery"), number: Number(value("x-webhookd-attempt")) };
}
