/**
 * What a job does with its deliveries, one at a time, each in the transaction that counts it: so that no crash makes it
 * do one twice, or lose one.
 *
 *   planned ──its turn──► released ──attempted──► delivered | failed
 *      └──► cancelled        └──► skipped: it will not be attempted for the job any more
 *      └──► skipped: it no longer qualifies
 */
import type { Database, Statement } from "better-sqlite3";
import type { Claim, JobPace } from "../../../domain/deliveries/delivery.ts";
import { statusesOf, type JobFilter } from "../../../domain/deliveries/job.ts";
import type {
  EndedAttempt,
  EventDelivery,
  JobStep,
  JobTake,
  Recorded,
  Waiting,
  WithdrawnDelivery,
} from "../../store.ts";
import { CANCEL, RESTART } from "../attempts/causes.ts";
import { type EndpointEntry, type EndpointIndex } from "../numbers/endpoint-index.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts } from "../claims/marks.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { FRESH, triggerCode, WAITING, deliveryId, eventId, keyOf } from "../../rows/codes.ts";
import { shownStatus } from "../../rows/shown-status.ts";
import type { JobRow } from "../../rows/job-row.ts";

interface Parts {
  readonly index: EndpointIndex;
  readonly fresh: FreshMark;
  readonly manual: ManualAttempts;
}

interface Current {
  readonly status: number | null;
  readonly trigger: number;
  readonly random: string;
  readonly test: number;
  readonly erased: number;
}

interface Released {
  readonly job: number;
  readonly action: JobRow["action"];
  readonly canary: number;
}

/** What a step gathers. */
interface Gathered {
  readonly waiting: Waiting[];
  readonly requested: EventDelivery[];
  readonly withdrawn: WithdrawnDelivery[];
}

type Count = "delivered" | "failed" | "cancelled" | "skipped";

export class JobSteps {
  readonly #parts: Parts;
  readonly #planned: Statement<[number, number, number], number>;
  readonly #releasedOf: Statement<[number, number], number>;
  readonly #current: Statement<[number, number], Current>;
  readonly #restart: Statement<[number, number, number, number]>;
  readonly #backfill: Statement<[number, number, number]>;
  readonly #matched: Statement<[number]>;
  readonly #cancel: Statement<[number, number]>;
  readonly #release: Statement<[number, number, number]>;
  readonly #countReleased: Statement<[number, number]>;
  readonly #forget: Statement<[number, number, number]>;
  readonly #some: Statement<[number], { endpoint: number; event: number; released: number }>;
  readonly #count: Readonly<Record<"planned" | "released", Readonly<Record<Count, Statement<[number, number]>>>>>;
  readonly #isReleased: Statement<[], number>;
  readonly #jobsOf: Statement<[number, number], Released>;
  readonly #delivered: Statement<[number, number], number>;
  readonly #pause: Statement<[string, number]>;
  readonly #pace: Statement<[number, number], JobPace>;
  /** Whether anything is released, so that recording asks nothing while there is not; null when it must be looked up. */
  #anyReleased: boolean | null = null;

  // oxlint-disable-next-line max-lines-per-function -- statements, one below the other
  constructor(db: Database, parts: Parts) {
    this.#parts = parts;
    this.#planned = db
      .prepare<[number, number, number], number>(
        "SELECT event FROM job_delivery WHERE job = ? AND endpoint = ? AND released = 0 ORDER BY event LIMIT ?",
      )
      .pluck();
    this.#releasedOf = db
      .prepare<[number, number], number>(
        `SELECT event FROM job_delivery INDEXED BY job_delivery_released
         WHERE released = 1 AND endpoint = ? AND job = ? LIMIT ${CHUNK}`,
      )
      .pluck();
    this.#current = db.prepare(
      `SELECT d.status, d.trigger, e.random, e.test, e.body IS NULL AS erased
       FROM event e LEFT JOIN delivery d ON d.event = e.key AND d.endpoint = ? WHERE e.key = ?`,
    );
    this.#restart = db.prepare(
      `UPDATE delivery SET ${RESTART}, trigger = ?, due_at = ? WHERE event = ? AND endpoint = ?`,
    );
    this.#backfill = db.prepare(
      `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
       VALUES (?, ?, ${WAITING}, 0, 1, 0, ${triggerCode("replay")}, ?)`,
    );
    this.#matched = db.prepare("UPDATE event SET unmatched = 0 WHERE key = ? AND unmatched = 1");
    this.#cancel = db.prepare(`UPDATE delivery SET ${CANCEL} WHERE event = ? AND endpoint = ?`);
    this.#release = db.prepare("UPDATE job_delivery SET released = 1 WHERE job = ? AND endpoint = ? AND event = ?");
    this.#countReleased = db.prepare(
      "UPDATE job_endpoint SET planned = planned - 1, released = released + 1 WHERE job = ? AND endpoint = ?",
    );
    this.#forget = db.prepare("DELETE FROM job_delivery WHERE job = ? AND endpoint = ? AND event = ?");
    const moving = (from: string, to: Count) =>
      db.prepare<[number, number]>(
        `UPDATE job_endpoint SET ${from} = ${from} - 1, ${to} = ${to} + 1 WHERE job = ? AND endpoint = ?`,
      );
    const counts = (from: string) => ({
      delivered: moving(from, "delivered"),
      failed: moving(from, "failed"),
      cancelled: moving(from, "cancelled"),
      skipped: moving(from, "skipped"),
    });
    this.#count = { planned: counts("planned"), released: counts("released") };
    this.#some = db.prepare(`SELECT endpoint, event, released FROM job_delivery WHERE job = ? LIMIT ${CHUNK}`);
    this.#isReleased = db
      .prepare<[], number>("SELECT 1 FROM job_delivery INDEXED BY job_delivery_released WHERE released = 1 LIMIT 1")
      .pluck();
    this.#jobsOf = db.prepare(
      `SELECT d.job, j.action, j.canary FROM job_delivery d INDEXED BY job_delivery_released JOIN job j ON j.num = d.job
       WHERE d.released = 1 AND d.endpoint = ? AND d.event = ?`,
    );
    this.#pace = db.prepare(
      `SELECT j.id AS job, j.rate_per_second AS perSecond
       FROM job_delivery d INDEXED BY job_delivery_released JOIN job j ON j.num = d.job
       WHERE d.released = 1 AND d.endpoint = ? AND d.event = ? ORDER BY j.rate_per_second LIMIT 1`,
    );
    this.#delivered = db
      .prepare<[number, number], number>("SELECT delivered FROM job_endpoint WHERE job = ? AND endpoint = ?")
      .pluck();
    this.#pause = db.prepare(
      "UPDATE job SET status = 'paused', paused_reason = ? WHERE num = ? AND status = 'running'",
    );
  }

  /** With the pace of the job that it is made for; of several, the slowest. */
  paced(claim: Claim): Claim {
    // What a job releases is never a step of the ladder.
    if (claim.trigger === "ladder" || !this.#isAnyReleased) return claim;
    const endpoint = this.#parts.index.byId(claim.endpoint);
    const pace = endpoint && this.#pace.get(endpoint.number, keyOf(claim.event));
    return pace === undefined ? claim : { ...claim, pace };
  }

  /** Inside a transaction. */
  step(job: JobRow, takes: readonly JobTake[], now: number): JobStep {
    const gathered: Gathered = { waiting: [], requested: [], withdrawn: [] };
    if (job.status !== "running") return gathered;
    const filter = JSON.parse(job.filter) as JobFilter;
    for (const { endpoint: id, limit, check } of takes) {
      const endpoint = this.#parts.index.byId(id);
      if (endpoint === undefined) continue;
      if (check) this.#checkReleased(job, endpoint);
      for (const event of this.#planned.all(job.num, endpoint.number, limit)) {
        const current = this.#current.get(endpoint.number, event);
        const acted =
          current !== undefined &&
          (filter.missing
            ? this.#fill(endpoint, event, current, now, gathered)
            : this.#qualifies(job, filter, endpoint, event, current) &&
              this.#act(job, endpoint, event, current, now, gathered));
        if (acted && job.action !== "cancel") this.#setReleased(job.num, endpoint.number, event);
        else this.#end(job.num, endpoint.number, event, "planned", acted ? "cancelled" : "skipped");
      }
    }
    return gathered;
  }

  /** Inside the transaction that recorded the attempt. */
  attempted({ claim, outcome, verdict }: EndedAttempt, { result }: Recorded): void {
    if (!this.#isAnyReleased) return;
    const delivered = verdict.status === "delivered";
    if (!delivered && (outcome.outcome === "interrupted" || result === "superseded")) return;
    const endpoint = this.#parts.index.byId(claim.endpoint);
    if (endpoint === undefined) return;
    const event = keyOf(claim.event);
    for (const { job, action, canary } of this.#jobsOf.all(endpoint.number, event)) {
      const forIt = claim.trigger === "test" || claim.trigger === (action === "replay" ? "replay" : "manual");
      if (!delivered && !forIt) continue;
      if (!delivered && canary === 1 && this.#delivered.get(job, endpoint.number) === 0) {
        this.#pause.run(`the canary to ${endpoint.id} failed: ${outcome.detail}`, job);
      }
      this.#end(job, endpoint.number, event, "released", delivered ? "delivered" : "failed");
      this.#anyReleased = null;
    }
  }

  /** Lets some of the set go, and with it what only this job asked for and nobody began; whether all of it is gone. */
  drop(job: number): boolean {
    const rows = this.#some.all(job);
    for (const { endpoint, event, released } of rows) {
      const askers = this.#jobsOf.all(endpoint, event).filter(({ action }) => action === "attempt_now");
      if (released === 1 && askers.length === 1 && askers[0]!.job === job) this.#parts.manual.withdraw(event, endpoint);
      this.#forget.run(job, endpoint, event);
    }
    this.#anyReleased = null;
    return rows.length < CHUNK;
  }

  /** What was read may have been undone. */
  forget(): void {
    this.#anyReleased = null;
  }

  get #isAnyReleased(): boolean {
    return (this.#anyReleased ??= this.#isReleased.get() !== undefined);
  }

  #qualifies(job: JobRow, filter: JobFilter, endpoint: EndpointEntry, event: number, current: Current): boolean {
    if (current.status === null) return false;
    const status = shownStatus(endpoint, { event, status: current.status, trigger: current.trigger });
    if (!statusesOf(job.action, filter.status)!.includes(status)) return false;
    return job.action === "cancel" || (current.erased === 0 && isSentTo(endpoint));
  }

  /** Whether it was done. */
  #act(job: JobRow, endpoint: EndpointEntry, event: number, current: Current, now: number, to: Gathered): boolean {
    const id = eventId(event, current.random);
    const owed = { endpoint: endpoint.id, delivery: deliveryId(id, endpoint.number) };
    const isQuiet = current.test === 1 && { isQuiet: true as const };
    switch (job.action) {
      case "replay":
        this.#restart.run(triggerCode(current.test === 1 ? "test" : "replay"), now, event, endpoint.number);
        to.waiting.push({ endpoint: endpoint.id, event: id, dueAt: now, ...isQuiet });
        return true;
      case "attempt_now":
        if (current.status === FRESH) return false;
        this.#parts.manual.owe(event, endpoint.number, false);
        to.requested.push(owed);
        return true;
      case "cancel":
        this.#cancel.run(event, endpoint.number);
        this.#parts.fresh.settled(event, endpoint.number);
        this.#parts.manual.drop(event, endpoint.number);
        to.withdrawn.push({ ...owed, ...isQuiet });
        return true;
    }
  }

  /** The delivery that the endpoint never had. */
  #fill(endpoint: EndpointEntry, event: number, current: Current, now: number, to: Gathered): boolean {
    if (current.status !== null || current.erased === 1 || !isSentTo(endpoint)) return false;
    this.#backfill.run(event, endpoint.number, now);
    this.#matched.run(event);
    to.waiting.push({ endpoint: endpoint.id, event: eventId(event, current.random), dueAt: now });
    return true;
  }

  /** Ended without an attempt of the job's: cancelled, pruned, or of an endpoint that is not sent to any more. */
  #checkReleased({ num, action }: JobRow, endpoint: EndpointEntry): void {
    for (const event of this.#releasedOf.all(endpoint.number, num)) {
      const status = this.#current.get(endpoint.number, event)?.status ?? null;
      const comes =
        isSentTo(endpoint) &&
        (action === "replay" ? status === WAITING : this.#parts.manual.isOwed(event, endpoint.number));
      if (!comes) this.#end(num, endpoint.number, event, "released", "skipped");
    }
    this.#anyReleased = null;
  }

  #setReleased(job: number, endpoint: number, event: number): void {
    this.#release.run(job, endpoint, event);
    this.#countReleased.run(job, endpoint);
    this.#anyReleased = true;
  }

  #end(job: number, endpoint: number, event: number, from: "planned" | "released", as: Count): void {
    this.#forget.run(job, endpoint, event);
    this.#count[from][as].run(job, endpoint);
  }
}

/** While what it was owed is being cancelled, what is added would be cancelled too. */
function isSentTo({ deleted, enabled, cancelTo }: EndpointEntry): boolean {
  return enabled && !deleted && cancelTo === null;
}
