import { around } from "../harness/store.ts";
import { randomBytes } from "node:crypto";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { Signer } from "../../src/delivery/send/signer.ts";
import { Sender } from "../../src/delivery/send/sender.ts";
import type { Outcome } from "../../src/domain/deliveries/attempt.ts";
import type { Claim, Send } from "../../src/domain/deliveries/delivery.ts";
import { newId } from "../../src/domain/id.ts";
import type { Job, NewJob } from "../../src/domain/deliveries/job.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { JobRunner } from "../../src/jobs/runner.ts";
import { silentLog } from "../../src/log.ts";
import type { EndedAttempt, Store } from "../../src/store/store.ts";
import { answered, BEGINNING, draft, withoutCapacity } from "../store/fixtures.ts";
import { openSqlite, type StoreUnderTest } from "../store/stores.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

export const RUNG = 21_600_000;
const STEP_MS = 2;

/**
 * A daemon without its API: the real store, dispatcher, sender and job runner. Tests move the time, and a function
 * stands in for the receivers.
 */
export class JobWorld {
  /** All attempts, in the order in which they started. */
  readonly started: Send[] = [];
  /** The time at which each of them started. */
  readonly startedAt: number[] = [];
  answer: (send: Send) => Outcome | "never" = () => answered(200);
  /** No receiver responds before this resolves. */
  gate: Promise<void> = Promise.resolve();
  dispatcher!: Dispatcher;
  #runner!: JobRunner;
  readonly #harness: StoreUnderTest;
  /** Calls to the store that have not returned. */
  #calls = 0;
  /** Counts the crashes, because what a process began before a crash has no effect after it. */
  #life = 0;

  private constructor(harness: StoreUnderTest) {
    this.#harness = harness;
  }

  static async start(): Promise<JobWorld> {
    const world = new JobWorld(await openSqlite());
    await world.#live();
    return world;
  }

  get store(): Store {
    return this.#harness.store;
  }

  get now(): number {
    return this.#harness.clock.now();
  }

  /** Kills the process and starts another one, which continues from the disk. */
  async crash(): Promise<void> {
    this.#life++;
    await this.#harness.crash();
    await this.#live();
  }

  /** Lets a second pass and does everything that is due in it. */
  async second(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    const end = this.now + 1000;
    await this.begin();
    await meanwhile();
    await this.until(() => this.now >= end);
    await this.idle();
  }

  /** Begins a second without waiting for the work that starts in it. */
  async begin(): Promise<void> {
    this.dispatcher.tick();
    await this.#runner.run();
  }

  /** Lets time pass until no work is left. */
  async idle(): Promise<void> {
    let idle = false;
    unawaited(this.dispatcher.idle().then(() => (idle = true)));
    await this.until(() => idle);
  }

  /** Lets time pass until `condition` is true. However slow the disk is, each step waits for the work that is ready. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      this.#harness.clock.advance(STEP_MS);
      for (let turns = 0; turns < 4; turns = this.#calls > 0 ? 0 : turns + 1) await new Promise(setImmediate);
    }
  }

  /** Creates deliveries that wait on the 6 h rung, then deliveries that have failed. */
  async owe(endpoint: string, counts: { readonly pending: number; readonly failed: number }): Promise<void> {
    for (let left = counts.pending + counts.failed; left > 0; left -= 1000) {
      const drafts = Array.from({ length: Math.min(1000, left) }, () => draft());
      await this.store.events.publish(drafts, this.now, withoutCapacity);
      const { claims } = await this.store.deliveries.due(endpoint, BEGINNING, this.now, 1000);
      const some = claims.map((claim, at) => this.#tried(claim, left - at > counts.failed));
      await this.store.deliveries.record(some);
    }
  }

  async add(more: Partial<NewJob>): Promise<Job> {
    const filter = { test: false, missing: false };
    const id = newId("job", this.now, randomBytes(10));
    const job = { id, tenant: null, filter, action: "replay", ratePerSecond: 20, canary: false, reason: "", ...more };
    const added = await this.store.jobs.add(job as NewJob, null, this.now);
    if (added.result !== "added") throw new Error(added.result);
    return added.job;
  }

  async job({ id }: Job): Promise<Job> {
    return (await this.store.jobs.get(null, id))!;
  }

  #tried(claim: Claim, pending: boolean): EndedAttempt {
    const verdict = pending
      ? ({ status: "pending", retry: 5, dueAt: this.now + RUNG } as const)
      : ({ status: "failed" } as const);
    const url = "https://receiver.example/hook";
    return { claim, url, startedAt: this.now, outcome: answered(503), verdict, secretVersion: 1 };
  }

  async #live(): Promise<void> {
    const { clock } = this.#harness;
    const life = this.#life;
    const store = around(this.#harness.store, (_, call) => this.#counted(call()));
    this.dispatcher = new Dispatcher({
      store,
      clock,
      ladder: SPECIFIED_LADDER,
      timeoutMs: 10_000,
      log: silentLog,
      loadedBytes: 64 * 1024 * 1024,
      onFault: (error) => {
        if (life === this.#life) throw error;
      },
      sending: (onEnded) =>
        new Sender({
          clock,
          signer: (target) =>
            new Signer(target, { header: "X-Service-Signature", standardWebhooks: false, also: [], version: "0" }),
          onStart: (send) => {
            this.started.push(send);
            this.startedAt.push(clock.now());
          },
          onEnded: (ended) => onEnded([ended]),
          open: () => ({ post: () => this.#post(life), abort() {}, close: async () => {} }),
          maxInFlight: 256,
          endpointMaxInFlight: 32,
        }),
    });
    const signal = new AbortController().signal;
    this.#runner = new JobRunner({ store, deliveries: this.dispatcher, clock, signal });
    await this.dispatcher.start();
  }

  #counted(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer;
    this.#calls++;
    return answer.finally(() => this.#calls--);
  }

  /** The dispatcher has just added the attempt to `started`. */
  async #post(life: number): Promise<Outcome> {
    const outcome = this.answer(this.started.at(-1)!);
    await this.gate;
    await new Promise<void>((resolve) => {
      if (outcome !== "never") this.#harness.clock.nextTurn(() => life === this.#life && resolve());
    });
    return outcome as Outcome;
  }
}
