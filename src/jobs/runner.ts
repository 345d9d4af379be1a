/**
 * Runs the open jobs: each second it takes as many deliveries of each endpoint as the job's pace allows, one step of
 * the store at a time, and hands them over to be sent. Everything that must not be lost is in the store. Memory holds
 * only how many were handed over, so a new process begins with the deliveries of one second. Within the second, the
 * sender keeps to the pace, which it receives with each delivery.
 */
import type { Clock } from "../clock.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import { WebhookdError } from "../domain/errors.ts";
import { TokenBucket } from "../domain/time/token-bucket.ts";
import type { JobEndpoint, JobTake, OpenJob, Store } from "../store/store.ts";

export interface JobRunnerParts {
  readonly store: Pick<Store, "jobs">;
  readonly deliveries: Pick<Deliveries, "attempt" | "replayed" | "withdraw">;
  readonly clock: Clock;
  /** Aborted when the daemon stops. */
  readonly signal: AbortSignal;
}

/** The number of rows in one step, and of endpoints in one page. */
const STEP_ROWS = 500;
/** The maximum number of walks over a cancelling job in one pass. */
const CANCEL_WALKS = 10;

/** The progress of one job at one endpoint. */
interface Lane {
  readonly bucket: TokenBucket;
  /** The number of deliveries that had been released but not attempted by the last pass. */
  released: number;
}

export class JobRunner {
  readonly #parts: JobRunnerParts;
  /** Lanes by job, then by endpoint. */
  readonly #lanes = new Map<string, Map<string, Lane>>();

  constructor(parts: JobRunnerParts) {
    this.#parts = parts;
  }

  /**
   * Makes one pass, and must be called each second. The next pass retries what the store refuses now, as on a full
   * disk.
   */
  async run(): Promise<void> {
    try {
      const jobs = await this.#parts.store.jobs.open();
      for (const id of this.#lanes.keys()) if (!jobs.some((job) => job.id === id)) this.#lanes.delete(id);
      for (const job of jobs) if (!this.#parts.signal.aborted) await this.#advance(job);
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
    }
  }

  async #advance(job: OpenJob): Promise<void> {
    const { clock, signal, store } = this.#parts;
    // A cancellation sends nothing, so there is no pace to keep.
    const walks = job.action === "cancel" ? CANCEL_WALKS : 1;
    let left = job.status === "running";
    for (let walk = 0; left && walk < walks && !signal.aborted; walk++) left = await this.#walk(job);
    if (left) return;
    while (!signal.aborted && !(await store.jobs.close(job.id, clock.now())));
  }

  /** Resolves to true if the job has deliveries left. */
  async #walk(job: OpenJob): Promise<boolean> {
    const { signal, store } = this.#parts;
    let left = false;
    for (let after: string | null = null; !signal.aborted;) {
      const page: readonly JobEndpoint[] = await store.jobs.endpoints(job.id, after);
      left ||= page.length > 0;
      let takes: JobTake[] = [];
      let rows = 0;
      for (const endpoint of page) {
        const take = this.#share(job, endpoint);
        // A check reads rows too.
        const size = take.limit + (take.check ? endpoint.released : 0);
        if (size === 0) continue;
        if (rows + size > STEP_ROWS) {
          await this.#step(job, takes);
          [takes, rows] = [[], 0];
        }
        takes.push(take);
        rows += size;
      }
      if (takes.length > 0) await this.#step(job, takes);
      if (page.length < STEP_ROWS) return left;
      after = page.at(-1)!.endpoint;
    }
    return left;
  }

  /** Returns the number of the endpoint's deliveries to take now. */
  #share(job: OpenJob, { endpoint, planned, released, delivered }: JobEndpoint): JobTake {
    if (job.action === "cancel") return { endpoint, limit: Math.min(planned, STEP_ROWS), check: false };
    const lane = this.#lane(job, endpoint);
    // None of the released deliveries was attempted since the last pass, so some may have ended in another way.
    const check = released > 0 && released === lane.released;
    lane.released = released;
    const burst = Math.max(1, job.ratePerSecond);
    const most = job.canary && delivered === 0 ? 1 : Math.min(STEP_ROWS, Math.ceil(2 * burst));
    const allowed = Math.min(planned, most - released);
    const now = this.#parts.clock.monotonic();
    let limit = 0;
    for (; limit < allowed && lane.bucket.readyAt(burst) <= now; limit++) lane.bucket.take(now);
    lane.released += limit;
    return { endpoint, limit, check };
  }

  async #step(job: OpenJob, takes: readonly JobTake[]): Promise<void> {
    const { clock, deliveries, store } = this.#parts;
    const { waiting, requested, withdrawn } = await store.jobs.step(job.id, takes, clock.now());
    if (waiting.length > 0) deliveries.replayed(waiting);
    for (const wanted of requested) deliveries.attempt(wanted);
    if (withdrawn.length > 0) await deliveries.withdraw(withdrawn);
  }

  #lane(job: OpenJob, endpoint: string): Lane {
    let lanes = this.#lanes.get(job.id);
    if (lanes === undefined) this.#lanes.set(job.id, (lanes = new Map()));
    let lane = lanes.get(endpoint);
    if (lane === undefined) lanes.set(endpoint, (lane = { bucket: new TokenBucket(job.ratePerSecond), released: 0 }));
    return lane;
  }
}
