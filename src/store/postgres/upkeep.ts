/** Upkeep each second, minute or hour: removes old rows, and saves what is in memory. */
import { DROP_KEY_TIMES, type KeyTimes, ON_TIME } from "../rows/key-times.ts";
import { noResponse } from "../../domain/deliveries/attempt.ts";
import type { Condition, PruneRules, Pruned, Space, UpkeepStore } from "../store.ts";
import type { Counters } from "./statistics/counters.ts";
import type { Queries } from "./engine/database.ts";
import { CHUNK, getMeta, setMeta, type Engine } from "./engine/engine.ts";
import { pruneChoices } from "./endpoints/choices.ts";
import type { PostgresEndpoints } from "./endpoints/endpoints.ts";
import type { Health } from "./endpoints/health.ts";
import type { PostgresOperations } from "./operations.ts";
import { type Pending, pendingOfEach } from "./deliveries/pending.ts";
import { type InLine, type Lines, lockLines, pruneLines, type Settled } from "./ordering/lines.ts";
import { addAttempts, LATE_RESPONSE_MS } from "./deliveries/record.ts";
import { FAILED, triggerCode, triggerOf, WAITING } from "../rows/codes.ts";
import { orderedOf } from "../rows/delivery-row.ts";

interface Parts {
  readonly counters: Counters;
  readonly endpoints: PostgresEndpoints;
  readonly health: Health;
  readonly lines: Lines;
  readonly operations: PostgresOperations;
  readonly pending: Pending;
}

export class PostgresUpkeep implements UpkeepStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  #reachable = true;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
  }

  pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned> {
    return this.#engine.write((tx) => pruneSome(tx, this.#parts.lines, this.#engine, rules, from));
  }

  async expireHeld(before: number, now: number): Promise<number> {
    const expired = await this.#engine.write((tx) => expireSome(tx, this.#parts, before, now));
    this.#parts.counters.noteExpired(expired, this.#engine.clock.now());
    return expired.length;
  }

  async freeKeys(now: number): Promise<number> {
    const { lines } = this.#parts;
    return (await lines.mayFree()) ? this.#engine.write((tx) => lines.freeKeys(tx, now)) : 0;
  }

  pruneKeys(from: string | null): Promise<Pruned> {
    return this.#engine.write((tx) => pruneLines(tx, from));
  }

  pruneChoices(): Promise<number> {
    return this.#engine.write(pruneChoices);
  }

  forgetResponses(before: number): Promise<number> {
    return this.#engine.write((tx) => forgetSome(tx, this.#engine.keys.times, before));
  }

  /** The database does this by itself. */
  async giveBack(): Promise<number> {
    return 0;
  }

  async mendPending(): Promise<readonly string[]> {
    const { pending } = this.#parts;
    const wrong = await pending.wrong(this.#engine.database.lists);
    if (wrong.length > 0) await this.#engine.write((tx) => pending.mend(tx));
    return wrong;
  }

  async saveHealth(): Promise<void> {
    await this.#parts.health.save();
  }

  /** The database looks after its own space, and refuses what does not fit. */
  async checkSpace(): Promise<Space> {
    // Read a table, because a server whose tables are gone can still be reached.
    this.#reachable = await getMeta(this.#engine.database, "schema").then(
      () => true,
      () => false,
    );
    // Try a commit, because nobody publishes after being told that nothing is accepted.
    if (this.#engine.state !== "ready") await this.#engine.write(async () => {}).catch(() => {});
    // The pause stays in memory as long as the database refuses it.
    await this.#parts.operations.savePause().catch(() => {});
    await this.#parts.endpoints.takeUp().catch(() => {});
    return { freeBytes: null, floorBytes: 0, ...(await this.condition()) };
  }

  async condition(): Promise<Condition> {
    const { database, outage, state } = this.#engine;
    const isReachable = this.#reachable && database.silence === null;
    return { state: isReachable ? state : "store_unavailable", trouble: null, outage };
  }
}

/** Most events have only one delivery. If events have more, the step ends early and leaves the rest to the next one. */
const EVENTS = 100;
const ROWS = 200;
/** The limit on bodies removed at once, because everything about an event goes in one transaction. */
const MAX_BODY_BYTES = 1024 * 1024;

interface Candidate {
  readonly key: number;
  readonly test: number;
  readonly bytes: number | null;
  readonly open: boolean | null;
  readonly failed: boolean | null;
  /** True if somebody requested an attempt that has not been made yet. A job may be waiting for it. */
  readonly requested: boolean;
  readonly last: number | null;
}

/** An event with many rows takes several steps. Its own row is removed last, so that a later step finds it again. */
async function pruneSome(
  tx: Queries,
  lines: Lines,
  { clock, keys: { times } }: Engine,
  rules: PruneRules,
  from: string | null,
): Promise<Pruned> {
  const some = "SELECT key FROM event WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3";
  const which = [from === null ? -1 : Number(from), times.firstKeyAt(Math.max(rules.delivered, rules.failed)), EVENTS];
  // The lines come before the deliveries: see `lines.ts`.
  const holding = await tx.rows<InLine>(
    `SELECT ordering_key AS key, sequence, event, endpoint FROM held_key WHERE event IN (${some})`,
    which,
  );
  await lockLines(
    tx,
    holding.map(({ key }) => key),
  );
  // Lock the rows, because another node may be about to replay an event.
  await tx.rows(`${some} FOR UPDATE`, which);
  await tx.rows(`SELECT 1 FROM delivery WHERE event IN (${some}) ORDER BY event, endpoint FOR UPDATE`, which);
  const candidates = await tx.rows<Candidate>(
    `SELECT e.key, e.test, length(e.body) AS bytes, d.open, d.failed,
       EXISTS (SELECT 1 FROM manual_attempt m WHERE m.event = e.key) AS requested,
       (SELECT max(started_at) FROM attempt a WHERE a.event = e.key) AS last
     FROM event e CROSS JOIN LATERAL (
       SELECT bool_or(status <= ${WAITING}) AS open, bool_or(status = ${FAILED}) AS failed
       FROM delivery WHERE event = e.key) d
     WHERE e.key > $1 AND e.key < $2 ORDER BY e.key LIMIT $3`,
    which,
  );
  let [rows, bytes, pruned] = [0, 0, 0];
  for (const event of candidates) {
    const here = String(event.key - 1);
    if (bytes >= MAX_BODY_BYTES) return { pruned, next: here };
    // Nobody looks for a failed test as they do for a failed delivery.
    const before = event.failed === true && event.test === 0 ? rules.failed : rules.delivered;
    // A replayed event counts as recent, because the person who replayed it wants to see the result.
    const isOld = Math.max(times.madeAt(event.key), event.last ?? 0) < before;
    if (event.open === true || event.requested || !isOld) continue;
    // The deliveries behind it have waited long enough for somebody to replay or cancel it.
    const held = holding.filter((one) => one.event === event.key);
    await lines.free(tx, held, clock.now());
    for (const [table, keys] of [
      ["attempt", "event, endpoint, number"],
      ["delivery", "event, endpoint"],
    ] as const) {
      if (rows >= ROWS) break;
      const part = `SELECT ${keys} FROM ${table} WHERE event = $1 LIMIT $2`;
      rows += await tx.change(`DELETE FROM ${table} WHERE (${keys}) IN (${part})`, [event.key, ROWS - rows]);
    }
    if (rows >= ROWS) return { pruned, next: here };
    await tx.change("DELETE FROM event_label WHERE event = $1", [event.key]);
    rows += await tx.change("DELETE FROM event WHERE key = $1", [event.key]);
    bytes += event.bytes ?? 0;
    pruned++;
  }
  if (candidates.length < EVENTS) await tx.change(DROP_KEY_TIMES);
  return { pruned, next: candidates.length < EVENTS ? null : String(candidates.at(-1)!.key) };
}

interface HeldRow {
  readonly event: number;
  readonly endpoint: number;
  readonly id: string;
  readonly tenant: string;
  readonly url: string;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
  readonly key: number | null;
  readonly sequence: number | null;
}

const DETAIL = "the endpoint was disabled for longer than [retention] held";

/** Fails deliveries that were held for too long, as if an attempt had failed. They can be replayed like any other. */
async function expireSome(
  tx: Queries,
  { lines, pending }: Pick<Parts, "lines" | "pending">,
  before: number,
  now: number,
): Promise<readonly HeldRow[]> {
  // Another node may be enabling an endpoint. This one sees that, or makes it wait. If a disabled endpoint was changed,
  // somebody still cares about it, so its time starts again. A delivery with a manual attempt is left alone, because
  // that attempt may be on the wire under the number that would be used here.
  const expires = `d.status = ${WAITING} AND d.due_at < $1 AND d.trigger <> ${triggerCode("test")}
    AND NOT EXISTS (SELECT 1 FROM manual_attempt m WHERE m.event = d.event AND m.endpoint = d.endpoint)`;
  const found = await tx.rows<Pick<HeldRow, "event" | "endpoint" | "key">>(
    `SELECT d.event, d.endpoint, d.ordering_key AS key
     FROM endpoint e JOIN delivery d ON d.endpoint = e.number
     WHERE e.enabled = 0 AND e.deleted_at IS NULL AND e.updated_at < $1 AND ${expires} LIMIT ${CHUNK} FOR SHARE OF e`,
    [before],
  );
  if (found.length === 0) return [];
  // The lines come before the deliveries: see `lines.ts`.
  await lockLines(
    tx,
    found.flatMap(({ key }) => key ?? []),
  );
  const rows = await tx.rows<HeldRow>(
    `SELECT d.event, d.endpoint, e.id, e.tenant, e.url, d.attempts, d.round, d.retry, d.trigger,
       d.ordering_key AS key, d.sequence
     FROM unnest($2::bigint[], $3::integer[]) AS n (event, endpoint)
     JOIN delivery d ON d.event = n.event AND d.endpoint = n.endpoint JOIN endpoint e ON e.number = d.endpoint
     WHERE ${expires} ORDER BY d.event, d.endpoint FOR UPDATE OF d`,
    [before, found.map(({ event }) => event), found.map(({ endpoint }) => endpoint)],
  );
  await tx.change(
    `UPDATE delivery d SET status = ${FAILED}, attempts = attempts + 1, due_at = NULL
     FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     WHERE d.event = n.event AND d.endpoint = n.endpoint`,
    [rows.map(({ event }) => event), rows.map(({ endpoint }) => endpoint)],
  );
  const kept = rows.map(({ event, endpoint, url, attempts, round, retry, trigger }) => ({
    event,
    endpoint,
    ended: {
      claim: { number: attempts + 1, trigger: triggerOf(trigger), round, retry },
      url,
      startedAt: now,
      outcome: noResponse("held_expired", DETAIL, 0),
      secretVersion: null,
    },
  }));
  await Promise.all([addAttempts(tx, kept, ON_TIME), pending.change(tx, pendingOfEach(rows, -1))]);
  const settled = rows.flatMap((row): Settled[] => {
    const ordered = orderedOf(row);
    if (ordered === null) return [];
    return [{ ...ordered, event: row.event, endpoint: row.endpoint, before: "waiting", status: "failed" }];
  });
  await lines.settled(tx, settled, now);
  return rows;
}

interface Place {
  readonly event: number;
  readonly endpoint: number;
  readonly number: number;
}

/**
 * No index finds response bodies, because every attempt would pay for it. Instead a walk in the order of events passes
 * each attempt once. Attempts that began long after their event, which the walk may have passed by then, were noted
 * when they were recorded.
 */
async function forgetSome(tx: Queries, times: KeyTimes, before: number): Promise<number> {
  const late = await tx.rows<Place>(
    `DELETE FROM late_response WHERE (started_at, event, endpoint, number) IN (
       SELECT started_at, event, endpoint, number FROM late_response WHERE started_at < $1 LIMIT ${CHUNK})
     RETURNING event, endpoint, number`,
    [before],
  );
  if (late.length > 0) {
    await forgetBodies(tx, late, before);
    return late.length;
  }
  const from = ((await getMeta(tx, "responses_forgotten")) ?? "-1,-1,-1").split(",").map(Number);
  const rows = await tx.rows<Place>(
    `SELECT event, endpoint, number FROM attempt WHERE (event, endpoint, number) > ($1, $2, $3) AND event < $4
     ORDER BY event, endpoint, number LIMIT ${CHUNK}`,
    [...from, times.firstKeyAt(before - LATE_RESPONSE_MS)],
  );
  const last = rows.at(-1);
  if (last === undefined) return 0;
  await forgetBodies(tx, rows, before);
  await setMeta(tx, "responses_forgotten", [last.event, last.endpoint, last.number].join());
  return rows.length;
}

/** "truncated" means that the response had more than is shown. */
async function forgetBodies(tx: Queries, places: readonly Place[], before: number): Promise<void> {
  await tx.change(
    `UPDATE attempt a SET body = NULL, truncated = 1
     FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS n (event, endpoint, number)
     WHERE a.event = n.event AND a.endpoint = n.endpoint AND a.number = n.number AND a.body IS NOT NULL
       AND a.started_at < $4`,
    [
      places.map(({ event }) => event),
      places.map(({ endpoint }) => endpoint),
      places.map(({ number }) => number),
      before,
    ],
  );
}
