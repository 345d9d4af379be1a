/** What does not arrive, by endpoint and cause: a walk over failed attempts, newest first, a few at a turn. */
import type { Database, Statement } from "better-sqlite3";
import type { AttemptError } from "../../domain/attempt.ts";
import { FailureGroups } from "../../domain/failure.ts";
import type { FailureQuery, FailureReport } from "../failures.ts";
import { FAILED, outcomeCode, WAITING } from "./codes.ts";
import { shownStatus, type EndpointIndex } from "./endpoint-index.ts";
import type { Endpoints } from "./endpoints.ts";
import { attemptId, eventId, firstKeyAt, instantOf } from "./ids.ts";
import type { PagesOptions } from "./page.ts";

/** Deliveries looked at in one turn, and in all; passing by one that is another tenant's costs a tenth. */
const CHUNK = 250;
const MAX_LOOKED = 100_000;
const PASSING_COST = 0.1;

const FAILURE = outcomeCode("failed");

interface Pair {
  readonly event: number;
  readonly endpoint: number;
}

interface DeliveryRow extends Pair {
  readonly status: number;
  readonly trigger: number;
  readonly random: string;
}

interface AttemptRow {
  readonly number: number;
  readonly round: number;
  readonly outcome: number;
  readonly error: AttemptError;
  readonly statusCode: number | null;
  readonly startedAt: number;
}

interface Parts extends PagesOptions {
  readonly index: EndpointIndex;
  readonly endpoints: Endpoints;
}

/** One question on its way through the rows. */
interface Progress {
  readonly groups: FailureGroups;
  readonly low: number;
  readonly endpoint: number | null;
  /** Whether this endpoint's failures are wanted. */
  readonly wants: (endpoint: number) => boolean;
  after: Pair;
  looked: number;
  end: boolean;
}

export class Failures {
  readonly #parts: Parts;
  readonly #all: Statement<unknown[], Pair>;
  readonly #ofEndpoint: Statement<unknown[], Pair>;
  readonly #delivery: Statement<[number, number], DeliveryRow>;
  readonly #attempts: Statement<[number, number], AttemptRow>;

  constructor(db: Database, parts: Parts) {
    this.#parts = parts;
    this.#all = db.prepare(
      `SELECT event, endpoint FROM attempt INDEXED BY attempt_failed
       WHERE outcome <> 0 AND event > @low AND (event, endpoint) < (@event, @endpoint)
       GROUP BY event, endpoint ORDER BY event DESC, endpoint DESC LIMIT ${CHUNK}`,
    );
    this.#ofEndpoint = db.prepare(
      `SELECT event, endpoint FROM attempt INDEXED BY attempt_endpoint_failed
       WHERE outcome <> 0 AND endpoint = @only AND event > @low AND event < @event
       GROUP BY event ORDER BY event DESC LIMIT ${CHUNK}`,
    );
    this.#delivery = db.prepare(
      `SELECT d.event, d.endpoint, d.status, d.trigger, e.random FROM delivery d CROSS JOIN event e ON e.key = d.event
       WHERE d.event = ? AND d.endpoint = ? AND d.status IN (${WAITING}, ${FAILED}) AND e.test = 0`,
    );
    // What was interrupted says nothing of the receiver: the attempt before it does.
    this.#attempts = db.prepare(
      `SELECT number, round, outcome, error, status_code AS statusCode, started_at AS startedAt FROM attempt
       WHERE event = ? AND endpoint = ? AND outcome <> ${outcomeCode("interrupted")} ORDER BY number`,
    );
  }

  async report(query: FailureQuery): Promise<FailureReport | null> {
    const { read, defer } = this.#parts;
    const progress = read(() => this.#begin(query));
    if (progress === null) return null;
    for (;;) {
      read(() => this.#advance(progress));
      if (progress.end || progress.looked >= MAX_LOOKED) break;
      await new Promise<void>((resolve) => defer(resolve));
    }
    const { groups, after, end } = progress;
    const since = end ? query.since : instantOf(after.event);
    return { since, total: groups.size, groups: groups.largest(query.limit) };
  }

  #begin({ tenant, endpoint, ...parts }: FailureQuery): Progress | null {
    const { endpoints } = this.#parts;
    const only = endpoint === undefined ? null : endpoints.numberOf(tenant, endpoint);
    if (endpoint !== undefined && only === null) return null;
    const all = tenant === null || only !== null;
    const known = new Map<number, boolean>();
    return {
      groups: new FailureGroups(parts),
      low: firstKeyAt(parts.since) - 1,
      endpoint: only,
      wants: (number) => all || remember(known, number, () => this.#isOf(tenant, number)),
      after: { event: Number.MAX_SAFE_INTEGER, endpoint: 0 },
      looked: 0,
      end: false,
    };
  }

  #advance(progress: Progress): void {
    const { groups, low, endpoint: only, wants } = progress;
    const statement = only === null ? this.#all : this.#ofEndpoint;
    const pairs = statement.all({ ...progress.after, low, ...(only !== null && { only }) });
    for (const { event, endpoint } of pairs) {
      const wanted = wants(endpoint);
      progress.looked += wanted ? 1 : PASSING_COST;
      if (wanted) this.#add(groups, event, endpoint);
    }
    progress.after = pairs.at(-1) ?? progress.after;
    progress.end = pairs.length < CHUNK;
  }

  #add(groups: FailureGroups, event: number, number: number): void {
    const delivery = this.#delivery.get(event, number);
    if (delivery === undefined) return;
    const attempts = this.#attempts.all(event, number);
    const last = attempts.at(-1);
    if (last?.outcome !== FAILURE) return;
    const endpoint = this.#parts.index.byNumber(number);
    const status = shownStatus(endpoint, delivery);
    if (status !== "failed" && status !== "pending" && status !== "held") return;
    const { error, statusCode, startedAt: lastAt } = last;
    const firstAt = attempts.find((each) => isSame(each, last))!.startedAt;
    const attempt = () => attemptId(eventId(event, delivery.random), number, last.number);
    groups.add({ endpoint: endpoint.id, status, error, statusCode, firstAt, lastAt, attempt });
  }

  #isOf(tenant: string | null, number: number): boolean {
    const { endpoints, index } = this.#parts;
    return endpoints.numberOf(tenant, index.byNumber(number).id) !== null;
  }
}

function isSame(a: AttemptRow, b: AttemptRow): boolean {
  return a.round === b.round && a.outcome === b.outcome && a.error === b.error && a.statusCode === b.statusCode;
}

function remember(known: Map<number, boolean>, key: number, find: () => boolean): boolean {
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = find();
  known.set(key, found);
  return found;
}
