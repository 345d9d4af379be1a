import type { Clock } from "../../src/clock.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { Signer } from "../../src/delivery/send/signer.ts";
import type { SenderSettings } from "../../src/delivery/send/open-sender.ts";
import type { SenderThreadData } from "../../src/delivery/threads/messages.ts";
import { Sender, type SenderParts, type Sending } from "../../src/delivery/send/sender.ts";
import type { Ended } from "../../src/domain/deliveries/attempt.ts";
import { serveSender, type StartThread } from "../../src/delivery/threads/thread-port.ts";
import { ThreadsOnDemand } from "../../src/delivery/threads/on-demand.ts";
import { SenderPool } from "../../src/delivery/threads/sender-pool.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { Ladder } from "../../src/domain/deliveries/due-time.ts";
import { silentLog } from "../../src/log.ts";
import { switchSecrets } from "../../src/daemon/chores.ts";
import { openStore } from "../../src/store/opening/open.ts";
import type { StartBackup } from "../../src/store/backup/backup.ts";
import type { Store } from "../../src/store/store.ts";
import type { Addresses, WayOut } from "./addresses.ts";
import { TENANTS } from "./application.ts";
import type { VirtualClock } from "./clock.ts";
import { startChores, type ChoresToDo } from "./chores.ts";
import { SimDisk, type DiskFaults } from "./disk.ts";
import {
  DESTINATION_MAX_IN_FLIGHT,
  ENDPOINT_MAX_IN_FLIGHT,
  MAX_IN_FLIGHT,
  SimNetwork,
  TIMEOUT_MS,
  type SeenAttempt,
} from "./network.ts";
import type { Plant } from "./plants.ts";
import type { Random } from "./random.ts";
import type { SimReceiver } from "./receiver.ts";
import { SimThread } from "./thread.ts";
import { around } from "../harness/store.ts";

export interface Faults {
  /** The chance that the process dies just before or after a call of the store. */
  crashAtAwait: number;
  readonly disk: DiskFaults;
  /** True if due deliveries cannot be read. */
  unreadable: boolean;
  /** True if no receiver can be reached. */
  cutOff: boolean;
  /** True if no file descriptor is left. */
  short: boolean;
}

export interface ProcessParts extends ChoresToDo {
  readonly dir: string;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly ladder: Ladder;
  readonly faults: Faults;
  readonly plant: Plant;
  /** The number of sender threads. With none, the main thread sends. */
  readonly threads: number;
  readonly receiverOf: (url: string) => SimReceiver;
  /** The limit on a tenant's pending deliveries. 0 means no limit. */
  readonly maxPendingPerTenant: number;
  readonly startBackup: StartBackup;
  /** Null if every address is allowed. */
  readonly addresses: Addresses | null;
  readonly violations: string[];
  readonly onAttempt: (attempt: SeenAttempt) => void;
  readonly onCrash: () => void;
}

export const SETTINGS: SenderSettings = {
  timeoutMs: TIMEOUT_MS,
  maxInFlight: MAX_IN_FLIGHT,
  senders: 1,
  endpointMaxInFlight: ENDPOINT_MAX_IN_FLIGHT,
  destinationMaxInFlight: DESTINATION_MAX_IN_FLIGHT,
  signature: { header: "X-Service-Signature", standardWebhooks: true, also: [], version: "0" },
  addresses: { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: false, ownPort: 0 },
  resolver: "c-ares",
  caFile: "",
};

/** These take as long as the real disk does, and the seed's chances must not depend on that. */
const UNTOUCHED: readonly string[] = ["keys.touch", "upkeep.condition", "upkeep.checkSpace"];

export class Process {
  alive = true;
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  /** A clock that stands still once the process is dead. */
  readonly clock: Clock;
  readonly #parts: ProcessParts;
  /** The store without faults. */
  readonly real: Store;
  readonly #disk: SimDisk;
  readonly #threads = new Set<SimThread>();
  readonly #ending = new AbortController();

  private constructor(parts: ProcessParts, real: Store, disk: SimDisk, clock: Clock) {
    this.#parts = parts;
    this.real = real;
    this.#disk = disk;
    this.clock = clock;
    this.store = this.#faulty(real);
    this.dispatcher = new Dispatcher({
      store: this.store,
      clock,
      ladder: parts.ladder,
      timeoutMs: TIMEOUT_MS,
      log: silentLog,
      // This is so little that every burst fills it.
      loadedBytes: 2 * 1024,
      onFault: (error) => {
        if (this.alive) throw error;
      },
      sending: (onEnded) => this.#sending(clock, onEnded),
    });
  }

  #sending(clock: Clock, onEnded: (batch: readonly Ended[]) => void): Sending {
    const { addresses, threads } = this.#parts;
    const settings = addresses === null ? SETTINGS : { ...SETTINGS, addresses: addresses.rules };
    const here = (onEnd: (ended: Ended) => void) => {
      const wayOut = addresses?.wayOut(settings, clock) ?? null;
      const network = this.#network(wayOut, () => this.alive);
      return senderOn(network, settings, { clock, ...hooksOf(wayOut), onEnded: onEnd });
    };
    if (threads === 0) return here((ended) => onEnded([ended]));
    const start = (data: SenderThreadData) => this.#startThread(data);
    const { now } = clock;
    return new ThreadsOnDemand({
      openHere: async (onEnd) => here(onEnd),
      openThreads: (onEnd, onDeath) =>
        new SenderPool({ threads, start, settings, log: silentLog, onEnded: onEnd, onDeath, now, clock }),
      // Sends move to threads and back many times in a process's life.
      busyPerSecond: 8,
      busyInAll: 0,
      restMs: 2000,
      movesPerSecond: 50,
      isSuspicious: this.real.recovery.careful,
      maxInFlight: settings.maxInFlight,
      endpointMaxInFlight: settings.endpointMaxInFlight,
      clock,
      onEnded,
      onThreadsEnded() {},
    });
  }

  /** Runs the code of the sender's thread without a thread. */
  #startThread({ settings, onWire }: SenderThreadData): ReturnType<StartThread> {
    const { addresses, random } = this.#parts;
    const thread = new SimThread({
      clock: this.#parts.clock.forProcess(() => this.alive),
      delay: () => random.between(0, 2),
      onExit: () => {
        this.#threads.delete(thread);
        network.drop();
      },
    });
    this.#threads.add(thread);
    const isAlive = () => this.alive && thread.alive;
    const clock = this.#parts.clock.forProcess(isAlive);
    const wayOut = addresses?.wayOut(settings, clock) ?? null;
    const network = this.#network(wayOut, isAlive);
    serveSender({
      port: thread.port,
      onWire,
      clock,
      open: (hooks) => senderOn(network, settings, { clock, ...hooksOf(wayOut), ...hooks }),
    });
    return thread.asThread();
  }

  #network(wayOut: WayOut | null, isAlive: () => boolean): SimNetwork {
    const { faults, onCrash } = this.#parts;
    return new SimNetwork(
      { ...this.#parts, wayOut, isCutOff: () => faults.cutOff, isShort: () => faults.short, onDeadly: onCrash },
      isAlive,
    );
  }

  /** Kills one of the sender's threads, if there are any. */
  killThread(): void {
    if (this.#threads.size > 0) this.#parts.random.pick([...this.#threads]).die();
  }

  /** Opens a process. Nothing runs before `start`. */
  static async open(parts: ProcessParts): Promise<Process> {
    const { dir, random, faults, onCrash } = parts;
    const { lies = false, forgets = false } = parts.plant;
    const disk = new SimDisk({ dir, random, faults: faults.disk, lies, forgets, onDeath: onCrash });
    let alive = () => true;
    const clock = parts.clock.forProcess(() => alive());
    const { store } = await openStore({
      dir,
      create: true,
      diskFloor: 0,
      maxPendingPerTenant: parts.maxPendingPerTenant,
      shares: new Map([[TENANTS[0]!, { weight: 3, ratePerSecond: null, maxPending: null }]]),
      // The number is so small that the mark passes slow deliveries even in this small world.
      freshStep: 5,
      clock,
      random: (length) => random.bytes(length),
      // The real `statfs` takes real time.
      statfs: async () => ({ bavail: 2 ** 30, bsize: 4096 }),
      // The process ends at once and logs nothing.
      onFault: onCrash,
      startBackup: parts.startBackup,
    });
    const process = new Process(parts, store, disk, clock);
    alive = () => process.alive;
    return process;
  }

  start(): void {
    const { clock, dispatcher, store } = this;
    this.#disk.armed = true;
    const fault = (error: unknown) => {
      if (this.alive) throw error;
    };
    const refresh = (endpoint: string) => dispatcher.refresh(endpoint);
    const endOverlaps = () => switchSecrets({ store, clock, refresh });
    const { signal } = this.#ending;
    startChores({ store, dispatcher, clock, signal, endOverlaps, onFault: fault }, this.#parts);
    endOverlaps()
      .then(() => dispatcher.start())
      .catch((error: unknown) => {
        // On a disk that takes no writes the process does not start, and its supervisor tries again.
        if (error instanceof WebhookdError && this.alive) this.#parts.onCrash();
        else fault(error);
      });
  }

  /** Ends this process as kill -9 or a power cut does, and leaves the files for the next one in `dir`. */
  async crash(dir: string): Promise<void> {
    this.alive = false;
    this.#ending.abort();
    this.#disk.leave(dir, this.#parts.random.chance(0.5));
    this.#disk.detach();
    // The process may have died during a commit, which has to return first.
    await new Promise(setImmediate);
    // The next process has copies of the files, so closing these may fail.
    await this.real.close().catch(() => {});
  }

  async stop(): Promise<void> {
    this.alive = false;
    this.#ending.abort();
    this.#disk.detach();
    await this.real.close();
  }

  /** Puts this seed's faults in front of the store. At each await the process may die, or the disk be full. */
  #faulty(real: Store): Store {
    return around(real, (verb, call) => {
      const { undone, answers } = this.#parts.plant;
      if (undone !== undefined && verb in undone) return Promise.resolve(undone[verb]);
      const planted = answers?.[verb] as ((answer: unknown, now: number) => unknown) | undefined;
      const result = planted === undefined ? call : async () => planted(await call(), this.#parts.clock.now());
      return UNTOUCHED.includes(verb)
        ? result()
        : this.#call(result as () => Promise<unknown>, verb.startsWith("deliveries.due"));
    });
  }

  async #call(run: () => Promise<unknown>, fails: boolean): Promise<unknown> {
    const { random, faults, onCrash } = this.#parts;
    const dies = this.alive && random.chance(faults.crashAtAwait);
    const before = dies && random.chance(0.5);
    if (!this.alive || before) return this.#dead(before, onCrash);
    if (fails && faults.unreadable) throw new WebhookdError("storage_unavailable", "the simulated disk");
    const result = await run();
    return !this.alive || dies ? this.#dead(dies && this.alive, onCrash) : result;
  }

  /** Never resolves, because the caller is dead. */
  #dead(now: boolean, onCrash: () => void): Promise<never> {
    if (now) onCrash();
    return new Promise(() => {});
  }
}

function hooksOf(wayOut: WayOut | null): Pick<SenderParts, "onEgress"> {
  return wayOut === null ? {} : { onEgress: (rules) => wayOut.keepTo(rules) };
}

function senderOn(
  network: SimNetwork,
  { destinationMaxInFlight, maxInFlight, endpointMaxInFlight, signature }: SenderSettings,
  hooks: Pick<SenderParts, "clock" | "onStart" | "onEnded" | "onEgress">,
): Sender {
  return new Sender({
    ...hooks,
    signer: (target) => new Signer(target, signature),
    open: ({ url, tenant }) => ({
      post: (request) => network.post(url, tenant, request),
      abort() {},
      close: async () => {},
    }),
    maxInFlight,
    endpointMaxInFlight,
    destinationMaxInFlight,
  });
}
