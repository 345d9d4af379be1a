/**
 * The steps of jobs. `src/domain/deliveries/job-step.ts` decides what happens to each delivery of a job's set. This
 * file writes it, in the transaction that counts it.
 */
import type { JobAction, JobFilter } from "../../../domain/deliveries/job.ts";
import { canaryReason, failsCanary, isAwaited, qualifies, resultOf } from "../../../domain/deliveries/job-step.ts";
import { isInOrder, type Ordering } from "../../../domain/deliveries/ordering.ts";
import { replayTrigger } from "../../../domain/deliveries/withdrawal.ts";
import type { EventDelivery, JobStep, JobTake, Recorded, Waiting, WithdrawnDelivery } from "../../store.ts";
import { KEPT, receivingOf } from "../endpoints/endpoint-rows.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK } from "../engine/engine.ts";
import { countIn, type Pending } from "../deliveries/pending.ts";
import { dropRequests, type Placed } from "../deliveries/record.ts";
import { type InLine, type Lines, lockLinesIn } from "../ordering/lines.ts";
import { BEHIND, CANCELLED, deliveryId, eventId, storedStatusOf, triggerCode, WAITING } from "../../rows/codes.ts";
import { orderedOf } from "../../rows/delivery-row.ts";
import { jobDeliveryOf } from "../../rows/shown-status.ts";

export interface StepJob {
  readonly num: number;
  readonly action: JobAction;
  readonly filter: string;
}

interface Endpoint {
  readonly number: number;
  readonly slot: number;
  readonly id: string;
  readonly tenant: string;
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
  readonly ordering: Ordering;
}

interface Current {
  readonly event: number;
  readonly status: number | null;
  readonly trigger: number;
  readonly due_at: number | null;
  readonly key: number | null;
  readonly sequence: number | null;
  readonly orderingKey: string | null;
  readonly random: string;
  readonly test: number;
  readonly erased: boolean;
}

interface Gathered {
  readonly waiting: Waiting[];
  readonly requested: EventDelivery[];
  readonly withdrawn: WithdrawnDelivery[];
  /** The change in the number of pending deliveries, by tenant. */
  readonly changes: Map<string, number>;
}

type Count = "delivered" | "failed" | "cancelled" | "skipped";

/** Must be called inside a transaction. */
export async function stepJob(
  tx: Queries,
  { lines, pending }: { readonly lines: Lines; readonly pending: Pending },
  job: StepJob,
  takes: readonly JobTake[],
  now: number,
): Promise<JobStep> {
  const changes = new Map<string, number>();
  const gathered: Gathered = { waiting: [], requested: [], withdrawn: [], changes };
  const { waiting, requested, withdrawn } = gathered;
  const endpoints = await tx.rows<Endpoint>(
    `SELECT number, slot, id, tenant, enabled, deleted_at IS NOT NULL AS deleted, cancel_to, ordering FROM endpoint e
     WHERE id = ANY($1::text[]) ${KEPT}`,
    [takes.map(({ endpoint }) => endpoint)],
  );
  await lockTaken(tx, job, endpoints, takes);
  for (const { endpoint: id, limit, check } of takes) {
    const endpoint = endpoints.find((one) => one.id === id);
    if (endpoint === undefined) continue;
    if (check) await checkReleased(tx, job, endpoint);
    if (limit > 0) await take(tx, lines, job, endpoint, limit, now, gathered);
  }
  await pending.change(tx, changes);
  return { waiting, requested, withdrawn };
}

/**
 * Another node may be recording an attempt, or removing an event. These locks keep unchanged what the step reads. It
 * takes them for all endpoints at once: see `lines.ts`.
 */
async function lockTaken(
  tx: Queries,
  job: StepJob,
  endpoints: readonly Endpoint[],
  takes: readonly JobTake[],
): Promise<void> {
  const next = `SELECT t.endpoint, n.event FROM unnest($2::integer[], $3::integer[]) AS t (endpoint, amount)
    CROSS JOIN LATERAL (
      SELECT event FROM job_delivery WHERE job = $1 AND endpoint = t.endpoint AND released = 0
      ORDER BY event LIMIT t.amount) n`;
  const limits = new Map(takes.map(({ endpoint, limit }) => [endpoint, limit]));
  const which = [job.num, endpoints.map(({ number }) => number), endpoints.map(({ id }) => limits.get(id)!)];
  // Not by way of the deliveries, because a job may add them.
  const lines = `SELECT k.num FROM (${next}) w JOIN event e ON e.key = w.event
    JOIN ordering_key k ON k.endpoint = w.endpoint AND k.key = e.ordering_key`;
  await lockLinesIn(tx, lines, which);
  await tx.rows(`SELECT 1 FROM event WHERE key IN (SELECT event FROM (${next}) w) ORDER BY key FOR SHARE`, which);
  await tx.rows(
    `SELECT 1 FROM delivery WHERE (event, endpoint) IN (SELECT event, endpoint FROM (${next}) w)
     ORDER BY event, endpoint FOR UPDATE`,
    which,
  );
}

// oxlint-disable-next-line max-params -- each of them is a part of the step
async function take(
  tx: Queries,
  lines: Lines,
  job: StepJob,
  endpoint: Endpoint,
  limit: number,
  now: number,
  to: Gathered,
) {
  const filter = JSON.parse(job.filter) as JobFilter;
  const next =
    "SELECT event FROM job_delivery WHERE job = $1 AND endpoint = $2 AND released = 0 ORDER BY event LIMIT $3";
  const place = [job.num, endpoint.number, limit];
  const rows = await tx.rows<Current>(
    `SELECT t.event, d.status, d.trigger, d.due_at, d.ordering_key AS key, d.sequence,
       e.ordering_key AS "orderingKey", e.random, e.test, e.body IS NULL AS erased
     FROM (${next}) t
     LEFT JOIN event e ON e.key = t.event
     LEFT JOIN delivery d ON d.event = t.event AND d.endpoint = $2 ORDER BY t.event`,
    place,
  );
  const receiving = receivingOf(endpoint);
  // An event that is gone has no body, so it counts as erased.
  const acted = rows.filter((row) =>
    qualifies(job.action, filter, receiving, jobDeliveryOf(receiving, row), row.erased),
  );
  await act(tx, lines, job, filter, endpoint, acted, now, to);
  const done = new Set(acted);
  const events = acted.map(({ event }) => event);
  const skipped = rows.filter((row) => !done.has(row)).map(({ event }) => event);
  await end(tx, job.num, endpoint.number, skipped, "planned", "skipped");
  if (job.action === "cancel") return end(tx, job.num, endpoint.number, events, "planned", "cancelled");
  if (events.length === 0) return;
  await tx.change(
    "UPDATE job_delivery SET released = 1 WHERE job = $1 AND endpoint = $2 AND event = ANY($3::bigint[])",
    [job.num, endpoint.number, events],
  );
  await tx.change(
    "UPDATE job_endpoint SET planned = planned - $3, released = released + $3 WHERE job = $1 AND endpoint = $2",
    [job.num, endpoint.number, events.length],
  );
}

// oxlint-disable-next-line max-params, max-lines-per-function -- each of them is a part of the step
async function act(
  tx: Queries,
  lines: Lines,
  job: StepJob,
  filter: JobFilter,
  endpoint: Endpoint,
  rows: readonly Current[],
  now: number,
  to: Gathered,
): Promise<void> {
  if (rows.length === 0) return;
  const events = rows.map(({ event }) => event);
  const own = rows.map(({ event, random }) => eventId(event, random));
  const deliveries = own.map((id) => ({ endpoint: endpoint.id, delivery: deliveryId(id, endpoint.number) }));
  const isQuiet = filter.test && { isQuiet: true as const };
  const waitingBut = (behind: ReadonlySet<number>) =>
    own
      .filter((_, at) => !behind.has(events[at]!))
      .map((event) => ({ endpoint: endpoint.id, event, dueAt: now, ...isQuiet }));
  const inLine = rows.flatMap((row): InLine[] => {
    const ordered = orderedOf(row);
    return ordered === null ? [] : [{ ...ordered, event: row.event, endpoint: endpoint.number }];
  });
  if (filter.missing) {
    const keyed = rows.flatMap(({ event, orderingKey }) =>
      isInOrder(endpoint, orderingKey) ? [{ event, orderingKey, endpoint: endpoint.number }] : [],
    );
    const late = keyed.length === 0 ? [] : await lines.late(tx, keyed, now);
    const behind = eventsOf(await lines.reenter(tx, late));
    const keys = new Map(late.map(({ event, key }) => [event, key]));
    await tx.change(
      `INSERT INTO delivery
         (event, endpoint, slot, status, attempts, round, retry, trigger, due_at, ordering_key, sequence)
       SELECT event, $2::integer, $3::smallint, ${WAITING}, 0, 1, 0, ${triggerCode("replay")}, due, key,
         CASE WHEN key IS NULL THEN NULL ELSE 0 END
       FROM unnest($1::bigint[], $4::bigint[], $5::bigint[]) AS n (event, due, key)`,
      [
        events,
        endpoint.number,
        endpoint.slot,
        events.map((event) => (behind.has(event) ? now + BEHIND : now)),
        events.map((event) => keys.get(event) ?? null),
      ],
    );
    await tx.change("UPDATE event SET unmatched = 0 WHERE key = ANY($1::bigint[]) AND unmatched = 1", [events]);
    to.waiting.push(...waitingBut(behind));
    countIn(to.changes, endpoint.tenant, events.length);
  } else if (job.action === "replay") {
    const behind = eventsOf(await lines.reenter(tx, inLine));
    await tx.change(
      `UPDATE delivery d SET status = ${WAITING}, round = round + 1, retry = 0, trigger = n.trigger, due_at = n.due
       FROM unnest($1::bigint[], $3::smallint[], $4::bigint[]) AS n (event, trigger, due)
       WHERE d.event = n.event AND d.endpoint = $2`,
      [
        events,
        endpoint.number,
        rows.map(({ test }) => triggerCode(replayTrigger(test === 1))),
        events.map((event) => (behind.has(event) ? now + BEHIND : now)),
      ],
    );
    to.waiting.push(...waitingBut(behind));
    countIn(to.changes, endpoint.tenant, events.length);
  } else if (job.action === "attempt_now") {
    await tx.change(
      `INSERT INTO manual_attempt (event, endpoint, urgent) SELECT event, $2::integer, 0 FROM unnest($1::bigint[]) AS event
       ON CONFLICT DO NOTHING`,
      [events, endpoint.number],
    );
    to.requested.push(...deliveries);
  } else {
    await tx.change(
      `UPDATE delivery SET status = ${CANCELLED}, due_at = NULL WHERE event = ANY($1::bigint[]) AND endpoint = $2`,
      [events, endpoint.number],
    );
    await dropRequests(
      tx,
      events.map((event) => ({ event, endpoint: endpoint.number })),
    );
    const cancelled = inLine.map((one) => ({ ...one, before: "waiting", status: "cancelled" }) as const);
    await lines.settled(tx, cancelled, now);
    countIn(to.changes, endpoint.tenant, -events.length);
    to.withdrawn.push(...deliveries.map((one) => ({ ...one, ...isQuiet })));
  }
}

function eventsOf(some: ReadonlySet<InLine>): ReadonlySet<number> {
  return new Set([...some].map(({ event }) => event));
}

async function checkReleased(tx: Queries, job: StepJob, endpoint: Endpoint): Promise<void> {
  const rows = await tx.rows<{ event: number; status: number | null; requested: boolean }>(
    `SELECT j.event, d.status, m.event IS NOT NULL AS requested
     FROM (SELECT event FROM job_delivery WHERE job = $1 AND endpoint = $2 AND released = 1 LIMIT ${CHUNK}) j
     LEFT JOIN delivery d ON d.event = j.event AND d.endpoint = $2
     LEFT JOIN manual_attempt m ON m.event = j.event AND m.endpoint = $2`,
    [job.num, endpoint.number],
  );
  const receiving = receivingOf(endpoint);
  const gone = rows.filter(({ status, requested }) => {
    const facts = { status: status === null ? null : storedStatusOf(status), isRequested: requested };
    return !isAwaited(job.action, receiving, facts);
  });
  const events = gone.map(({ event }) => event);
  await end(tx, job.num, endpoint.number, events, "released", "skipped");
}

async function end(
  tx: Queries,
  job: number,
  endpoint: number,
  events: readonly number[],
  from: "planned" | "released",
  as: Count,
): Promise<void> {
  if (events.length === 0) return;
  const gone = await tx.change(
    "DELETE FROM job_delivery WHERE job = $1 AND endpoint = $2 AND event = ANY($3::bigint[])",
    [job, endpoint, events],
  );
  await tx.change(
    `UPDATE job_endpoint SET ${from} = ${from} - $3, ${as} = ${as} + $3 WHERE job = $1 AND endpoint = $2`,
    [job, endpoint, gone],
  );
}

interface Released {
  readonly job: number;
  readonly event: number;
  readonly endpoint: number;
  readonly action: JobAction;
  readonly canary: number;
  readonly delivered: number;
}

/** Must be called inside the transaction that recorded the attempts. */
export async function attemptedForJobs(
  tx: Queries,
  placed: readonly (Placed | null)[],
  recorded: readonly Recorded[],
): Promise<void> {
  const known = placed.flatMap((one) => (one === null ? [] : [one]));
  const rows = await tx.rows<Released>(
    `SELECT d.job, d.event, d.endpoint, j.action, j.canary, c.delivered
     FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     JOIN job_delivery d ON d.released = 1 AND d.event = n.event AND d.endpoint = n.endpoint
     JOIN job j ON j.num = d.job JOIN job_endpoint c ON c.job = d.job AND c.endpoint = d.endpoint`,
    [known.map(({ event }) => event), known.map(({ endpoint }) => endpoint)],
  );
  if (rows.length === 0) return;
  const left = new Map(rows.map((row) => [`${row.job} ${row.event} ${row.endpoint}`, row]));
  const arrived = new Map<string, number>();
  for (const [at, one] of placed.entries()) {
    if (one === null) continue;
    const { claim, outcome } = one.ended;
    for (const [name, row] of left) {
      if (row.event !== one.event || row.endpoint !== one.endpoint) continue;
      const result = resultOf(row.action, one.ended, recorded[at]!.result);
      if (result === null) continue;
      left.delete(name);
      const place = `${row.job} ${row.endpoint}`;
      const before = row.delivered + (arrived.get(place) ?? 0);
      if (result === "delivered") arrived.set(place, (arrived.get(place) ?? 0) + 1);
      if (failsCanary(row.canary === 1, result, before)) {
        await tx.change("UPDATE job SET status = 'paused', paused_reason = $2 WHERE num = $1 AND status = 'running'", [
          row.job,
          canaryReason(claim.endpoint, outcome.detail),
        ]);
      }
      await end(tx, row.job, row.endpoint, [row.event], "released", result);
    }
  }
}
