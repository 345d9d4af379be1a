/**
 * The steps of jobs. `src/domain/deliveries/job-step.ts` decides what happens to each delivery of a job's set. This
 * file writes it, in the transaction that counts it.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Claim, JobPace } from "../../../domain/deliveries/delivery.ts";
import type { JobFilter } from "../../../domain/deliveries/job.ts";
import { canaryReason, failsCanary, isAwaited, qualifies, resultOf } from "../../../domain/deliveries/job-step.ts";
import { isInOrder } from "../../../domain/deliveries/ordering.ts";
import { replayTrigger } from "../../../domain/deliveries/withdrawal.ts";
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
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { Lines } from "../ordering/lines.ts";
import { BEHIND, triggerCode, WAITING, deliveryId, eventId, keyOf, storedStatusOf } from "../../rows/codes.ts";
import { jobDeliveryOf } from "../../rows/shown-status.ts";
import type { JobRow } from "../../rows/job-row.ts";

interface Parts {
  readonly index: EndpointIndex;
  readonly fresh: FreshMark;
  readonly manual: ManualAttempts;
  readonly lines: Lines;
}

interface Current {
  readonly status: number | null;
  readonly trigger: number;
  readonly due_at: number | null;
  readonly ordering_key: string | null;
  readonly random: string;
  readonly test: number;
  readonly erased: number;
}

interface Released {
  readonly job: number;
  readonly action: JobRow["action"];
  readonly canary: number;
}

/** Collects the result of a step. */
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
  readonly #backfill: Statement<[number, number, number, number | null, number | null]>;
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
  /** False while no delivery is released, which saves a query at each recording. Null if it must be looked up. */
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
      `SELECT d.status, d.trigger, d.due_at, e.ordering_key, e.random, e.test, e.body IS NULL AS erased
       FROM event e LEFT JOIN delivery d ON d.event = e.key AND d.endpoint = ? WHERE e.key = ?`,
    );
    this.#restart = db.prepare(
      `UPDATE delivery SET ${RESTART}, trigger = ?, due_at = ? WHERE event = ? AND endpoint = ?`,
    );
    this.#backfill = db.prepare(
      `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at, ordering_key, sequence)
       VALUES (?, ?, ${WAITING}, 0, 1, 0, ${triggerCode("replay")}, ?, ?, ?)`,
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

  /** Adds the pace of the job for which the attempt is made, or the slowest pace of several jobs. */
  paced(claim: Claim): Claim {
    // An attempt for a job is never one by the ladder.
    if (claim.trigger === "ladder" || !this.#isAnyReleased) return claim;
    const endpoint = this.#parts.index.byId(claim.endpoint);
    const pace = endpoint && this.#pace.get(endpoint.number, keyOf(claim.event));
    return pace === undefined ? claim : { ...claim, pace };
  }

  /** Must be called inside a transaction. */
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
        const acts =
          current !== undefined &&
          qualifies(job.action, filter, endpoint, jobDeliveryOf(endpoint, { ...current, event }), current.erased === 1);
        if (acts && filter.missing) this.#fill(endpoint, event, current, now, gathered);
        else if (acts) this.#act(job, endpoint, event, current, now, gathered);
        if (acts && job.action !== "cancel") this.#setReleased(job.num, endpoint.number, event);
        else this.#end(job.num, endpoint.number, event, "planned", acts ? "cancelled" : "skipped");
      }
    }
    return gathered;
  }

  /** Must be called inside the transaction that recorded the attempt. */
  attempted(ended: EndedAttempt, recorded: Recorded): void {
    if (!this.#isAnyReleased) return;
    const { claim, outcome } = ended;
    const endpoint = this.#parts.index.byId(claim.endpoint);
    if (endpoint === undefined) return;
    const event = keyOf(claim.event);
    for (const { job, action, canary } of this.#jobsOf.all(endpoint.number, event)) {
      const result = resultOf(action, ended, recorded.result);
      if (result === null) continue;
      if (failsCanary(canary === 1, result, this.#delivered.get(job, endpoint.number)!)) {
        this.#pause.run(canaryReason(endpoint.id, outcome.detail), job);
      }
      this.#end(job, endpoint.number, event, "released", result);
      this.#anyReleased = null;
    }
  }

  /**
   * Removes part of the set, with the requests that only this job made and that nobody has begun. Returns true once the
   * whole set is gone.
   */
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

  /** Must be called after a rollback, which may have undone what was read. */
  forget(): void {
    this.#anyReleased = null;
  }

  get #isAnyReleased(): boolean {
    return (this.#anyReleased ??= this.#isReleased.get() !== undefined);
  }

  #act(job: JobRow, endpoint: EndpointEntry, event: number, current: Current, now: number, to: Gathered): void {
    const id = eventId(event, current.random);
    const delivery = { endpoint: endpoint.id, delivery: deliveryId(id, endpoint.number) };
    const isQuiet = current.test === 1 && { isQuiet: true as const };
    switch (job.action) {
      case "replay": {
        const behind = this.#parts.lines.reenter(endpoint, event);
        const dueAt = behind ? now + BEHIND : now;
        this.#restart.run(triggerCode(replayTrigger(current.test === 1)), dueAt, event, endpoint.number);
        if (!behind) to.waiting.push({ endpoint: endpoint.id, event: id, dueAt, ...isQuiet });
        return;
      }
      case "attempt_now":
        this.#parts.manual.add(event, endpoint.number, false);
        to.requested.push(delivery);
        return;
      case "cancel":
        this.#cancel.run(event, endpoint.number);
        this.#parts.fresh.settled(event, endpoint.number);
        this.#parts.lines.cancelled(event, endpoint, now);
        this.#parts.manual.drop(event, endpoint.number);
        to.withdrawn.push({ ...delivery, ...isQuiet });
    }
  }

  /** Adds the delivery that the endpoint never had. */
  #fill(endpoint: EndpointEntry, event: number, current: Current, now: number, to: Gathered): void {
    const { ordering_key: key, random } = current;
    const ordered = isInOrder(endpoint, key) ? this.#parts.lines.enterLate(endpoint, key, event) : null;
    const dueAt = ordered?.isBehind === true ? now + BEHIND : now;
    this.#backfill.run(event, endpoint.number, dueAt, ordered?.key ?? null, ordered?.sequence ?? null);
    this.#matched.run(event);
    if (ordered?.isBehind !== true) to.waiting.push({ endpoint: endpoint.id, event: eventId(event, random), dueAt });
  }

  #checkReleased({ num, action }: JobRow, endpoint: EndpointEntry): void {
    for (const event of this.#releasedOf.all(endpoint.number, num)) {
      const status = this.#current.get(endpoint.number, event)?.status ?? null;
      const isRequested = action !== "replay" && this.#parts.manual.isOwed(event, endpoint.number);
      const facts = { status: status === null ? null : storedStatusOf(status), isRequested };
      if (!isAwaited(action, endpoint, facts)) this.#end(num, endpoint.number, event, "released", "skipped");
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
