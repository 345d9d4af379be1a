/** An operator who creates jobs and steers them as the API does, and remembers the responses. */
import { newId } from "../../src/domain/id.ts";
import { JOB_ACTIONS, type NewJob } from "../../src/domain/deliveries/job.ts";
import type { Store } from "../../src/store/store.ts";
import type { Acked } from "./invariants.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";

/** At these rates each job ends before the run does. */
const RATES = [2, 5, 20];

interface Made {
  readonly job: NewJob;
  /** The time of the response. Events published later are not part of the job. */
  answeredAt: number;
  /** True if the job is known to be stored. */
  isThere: boolean;
  cancelled: boolean;
}

export class Bulk {
  readonly #random: Random;
  readonly #monotonic: () => number;
  readonly #made: Made[] = [];

  constructor(random: Random, monotonic: () => number) {
    this.#random = random;
    this.#monotonic = monotonic;
  }

  touch(process: Process, endpoints: readonly string[], acked: readonly Acked[]): void {
    const there = this.#made.filter(({ isThere }) => isThere);
    const done =
      there.length === 0 || this.#random.chance(0.5)
        ? this.#make(process, this.#random.pick(endpoints), acked)
        : this.#steer(process, this.#random.pick(there), this.#random.pick(["running", "paused", "cancelled"]));
    // A full disk refused it, so its effect is unknown.
    done.catch(() => {});
  }

  /** Resumes jobs that an operator or their canary paused, so that no job is left open at the end. */
  async resumeAll(process: Process): Promise<void> {
    for (const made of this.#made) {
      if (made.isThere) await this.#steer(process, made, "running").catch(() => {});
    }
  }

  get any(): boolean {
    return this.#made.length > 0;
  }

  /** True if a job may have cancelled this event's delivery to the endpoint. */
  mayHaveCancelled({ id, sentAt }: Pick<Acked, "id" | "sentAt">, endpoint: string): boolean {
    return this.#mayConcern("cancel", id, sentAt, endpoint);
  }

  /** True if a job may have added this event to an endpoint that had not chosen it. */
  mayHaveAdded({ id, sentAt }: Acked, endpoint: string): boolean {
    return this.#mayConcern("replay", id, sentAt, endpoint);
  }

  /** The number of jobs that make attempts outside the ladder. Each makes at most one for a delivery. */
  get attempting(): number {
    return this.#made.filter(({ job }) => job.action === "attempt_now").length;
  }

  /** V14, once everything has had time to end. */
  async check(store: Store): Promise<string[]> {
    const violations: string[] = [];
    for (const { job, isThere, cancelled } of this.#made) {
      const found = await store.jobs.get(null, job.id);
      if (found === null) {
        if (isThere) violations.push(`V14: ${job.id} was answered and is gone`);
        continue;
      }
      const { status, matched, done, skipped } = found;
      const isOver = status === "done" || (status === "cancelled" && cancelled);
      if (isThere && !isOver) violations.push(`V14: ${job.id} (${job.action}) is ${status} at the end`);
      if (status === "done" && done + skipped !== matched) {
        violations.push(`V14: ${job.id} (${job.action}) is done with ${done} and ${skipped} of ${matched}`);
      }
    }
    return violations;
  }

  async #make(process: Process, endpoint: string, acked: readonly Acked[]): Promise<void> {
    const random = this.#random;
    // So far hardly anything has failed for good, so delivered events may be replayed too.
    const action = random.chance(0.5) ? "replay" : random.pick(JOB_ACTIONS);
    const events = acked.length > 0 && random.chance(0.2) ? [random.pick(acked).id, random.pick(acked).id] : undefined;
    const missing = action === "replay" && events === undefined && random.chance(0.3);
    const job: NewJob = {
      id: newId("job", process.clock.now(), random.bytes(10)),
      tenant: null,
      action,
      filter: {
        endpoint,
        test: false,
        missing,
        ...(events !== undefined && { events }),
        ...(action === "replay" && !missing && random.chance(0.7) && { status: "delivered" }),
      },
      ratePerSecond: random.pick(RATES),
      canary: random.chance(0.3),
      reason: "simulated",
    };
    const made: Made = { job, answeredAt: Number.POSITIVE_INFINITY, isThere: false, cancelled: false };
    this.#made.push(made);
    // Missing deliveries are sought among the events of the endpoint's own tenant.
    const tenant = missing ? await process.store.endpoints.tenantOf(endpoint) : null;
    await process.store.jobs.add({ ...job, tenant }, null, process.clock.now());
    made.isThere = process.alive;
    if (process.alive) made.answeredAt = this.#monotonic();
  }

  async #steer(process: Process, made: Made, to: "running" | "paused" | "cancelled"): Promise<void> {
    if (to === "cancelled") made.cancelled = true;
    await process.store.jobs.steer(
      null,
      made.job.id,
      to,
      process.clock.now(),
      to === "running" ? "send_all" : undefined,
    );
  }

  #mayConcern(action: NewJob["action"], id: string, sentAt: number, endpoint: string): boolean {
    return this.#made.some(
      ({ job, answeredAt }) =>
        job.action === action &&
        job.filter.endpoint === endpoint &&
        (job.filter.events?.includes(id) ?? true) &&
        sentAt <= answeredAt,
    );
  }
}
