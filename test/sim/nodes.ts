/**
 * Two nodes on a real PostgreSQL, and two events on their way: published, sent, recorded and tried again, given up to the
 * other node and taken back. One of the first node's statements is the one at which something happens to it. Time is the
 * test's, and so are the receiver's answers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { DatabaseClock } from "../../src/clock.ts";
import type { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { Database, Queries } from "../../src/store/postgres/engine/database.ts";
import type { Store } from "../../src/store/store.ts";
import { dispatcherOn } from "../delivery/house.ts";
import { ManualClock } from "../harness/clock.ts";
import { withClient } from "../harness/postgres.ts";
import { addEndpoint, answered, publishOne } from "../store/fixtures.ts";
import { openPostgresDatabase, temporaryDirectory } from "../store/stores.ts";
import { storageUnavailable } from "../../src/store/files/unavailable.ts";
import { DELIVERED, FAILED } from "../../src/store/rows/codes.ts";

/**
 * Stalled before the statement or after it, the node goes on once the other one has taken over; killed, it never does. A
 * statement that is lost was done, and its answer reaches nobody; one that is refused was not done. Or the clock of the
 * node's host jumps, and stays there.
 */
export const FAULTS = ["stalled before", "stalled after", "killed", "lost", "refused", "ahead", "behind"] as const;
export type Fault = (typeof FAULTS)[number];

/** At which statement of the first node, counted from its first event on. */
export interface Happening {
  readonly at: number;
  readonly fault: Fault;
}

const LEASE_MS = 60_000;
const STEP_MS = 20_000;
/** Nothing was asked of the database for so long: all has come to rest. */
const QUIET_MS = 6;
const MOVES = /INSERT INTO delivery|UPDATE delivery|UPDATE slot/;

const JUMPS: Partial<Record<Fault, number>> = { ahead: 86_400_000, behind: -86_400_000 };
/** Of the second node's host, all the time. */
const SKEW_MS = -3000;

/** As a node has it whose host's clock is wrong: its database goes by the clock of the test. */
class NodeClock extends DatabaseClock {
  readonly #world: ManualClock;
  readonly #host: { aheadMs: number };

  constructor(world: ManualClock, aheadMs: number) {
    const host = { aheadMs };
    super({
      now: () => world.now() + host.aheadMs,
      monotonic: () => world.monotonic(),
      uptime: () => world.uptime(),
      after: (delayMs, run) => world.after(delayMs, run),
      nextTurn: (run) => world.nextTurn(run),
    });
    this.#world = world;
    this.#host = host;
    this.heard();
  }

  override heard(): void {
    const at = this.#world.monotonic();
    super.heard(this.#world.now(), at, at);
  }

  jump(ms: number): void {
    this.#host.aheadMs += ms;
  }
}

/** What stands between a node and its database. */
class Line {
  readonly #happening: Happening | null;
  readonly #clock: NodeClock;
  readonly #go = Promise.withResolvers<void>();
  readonly #stalled = Promise.withResolvers<void>();
  #counts = false;
  #hasGoneOn = false;
  count = 0;
  /** Those that begin a transaction in which a delivery or an endpoint moves. */
  readonly moves = new Set<number>();
  #busy = 0;
  stalled = false;

  constructor(happening: Happening | null, clock: NodeClock) {
    this.#happening = happening;
    this.#clock = clock;
  }

  /** It stands still once at most. */
  get onStall(): Promise<void> {
    return this.#hasGoneOn ? new Promise(() => {}) : this.#stalled.promise;
  }

  get isBusy(): boolean {
    return this.#busy > 0 && !this.stalled;
  }

  begin(): void {
    this.#counts = true;
  }

  resume(): void {
    this.stalled = false;
    this.#hasGoneOn = true;
    this.#go.resolve();
  }

  /** All that the node asks from now on goes by this line. */
  join(database: Database): void {
    for (const queries of [database, database.lease, database.lists] as Queries[]) this.#joinQueries(queries);
    for (const name of ["transaction", "leaseTransaction"] as const) {
      const real = database[name].bind(database) as Database["transaction"];
      const onLine: Database["transaction"] = (work, mark) => {
        const at = this.count;
        return this.#pass(() =>
          real(async (tx) => {
            const queries = { ...tx };
            this.#joinQueries(queries, (sql) => void (MOVES.test(sql) && this.#counts && this.moves.add(at)));
            return work(queries);
          }, mark),
        );
      };
      Object.assign(database, { [name]: onLine });
    }
  }

  #joinQueries(queries: Queries, onAsked: (sql: string) => void = () => {}): void {
    for (const name of ["rows", "change", "script"] as const) {
      const real = (queries[name] as (...asked: unknown[]) => Promise<unknown>).bind(queries);
      const onLine = (...asked: unknown[]) => {
        onAsked(String(asked[0]));
        return this.#pass(() => real(...asked));
      };
      Object.assign(queries, { [name]: onLine });
    }
  }

  async #pass<T>(ask: () => Promise<T>): Promise<T> {
    const fault = this.#counts && this.count++ === this.#happening?.at ? this.#happening.fault : null;
    this.#busy++;
    try {
      if (fault !== null) this.#clock.jump(JUMPS[fault] ?? 0);
      if (fault === "refused") throw storageUnavailable();
      if (fault === "stalled before" || fault === "killed") await this.#stall();
      const answer = await ask();
      if (fault === "lost") throw storageUnavailable();
      if (fault === "stalled after") await this.#stall();
      return answer;
    } finally {
      this.#busy--;
    }
  }

  async #stall(): Promise<void> {
    this.stalled = true;
    this.#stalled.resolve();
    await this.#go.promise;
  }
}

interface Node {
  readonly name: "first" | "second";
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly line: Line;
  /** It was told that it has lost what it had, and ended. */
  ended: boolean;
}

interface Request {
  readonly event: string;
  readonly by: Node["name"];
  readonly status: number;
}

interface Row {
  readonly status: number;
  readonly attempts: number;
  readonly retry: number;
  readonly due_at: string | null;
  readonly recorded: number;
  readonly succeeded: number;
}

/** What was found wrong, and how many statements the first node made. */
export interface Report {
  readonly wrong: readonly string[];
  readonly statements: number;
  /** Which of those begin a transaction in which something moves. */
  readonly moves: readonly number[];
  /** Of each event, who made its attempts. */
  readonly sentBy: readonly string[];
}

export async function nodesLive(url: string, happening: Happening | null): Promise<Report> {
  return withClient(url, async (client) => {
    const world = new World(url, client, happening);
    await world.open();
    try {
      await world.live();
      return await world.judge();
    } finally {
      await world.close();
    }
  });
}

class World {
  readonly #url: string;
  readonly #client: Client;
  readonly #happening: Happening | null;
  readonly #clock = new ManualClock();
  readonly #dir = temporaryDirectory();
  readonly #requests: Request[] = [];
  readonly #acked: string[] = [];
  readonly #wrong: string[] = [];
  #first!: Node;
  #second!: Node;

  constructor(url: string, client: Client, happening: Happening | null) {
    this.#url = url;
    this.#client = client;
    this.#happening = happening;
  }

  async open(): Promise<void> {
    this.#first = await this.#start("first", this.#happening);
    await addEndpoint(this.#first.store);
    this.#second = await this.#start("second", null);
    await this.#drain(this.#second, true);
    await this.#pass(1000);
    this.#first.line.begin();
  }

  async #start(name: Node["name"], happening: Happening | null): Promise<Node> {
    const clock = new NodeClock(this.#clock, name === "first" ? 0 : SKEW_MS);
    const line = new Line(happening, clock);
    const onLost = () => (node.ended = true);
    const onDatabase = (database: Database) => line.join(database);
    const place = { dir: this.#dir, clock, leaseMs: LEASE_MS };
    const store = await openPostgresDatabase(this.#url, { ...place, onDatabase, onLost });
    const post = async (_: string, { body }: { readonly body: Uint8Array }) => {
      const event = (JSON.parse(Buffer.from(body).toString()) as { id: string }).id;
      const status = this.#requests.filter((one) => one.event === event).length < 2 ? 503 : 200;
      this.#requests.push({ event, by: name, status });
      return answered(status);
    };
    const dispatcher = dispatcherOn({ store, clock, post: post as never });
    const node: Node = { name, store, dispatcher, line, ended: false };
    await dispatcher.start();
    return node;
  }

  async live(): Promise<void> {
    await this.#publish();
    for (let left = 3; left > 0; left--) await this.#pass(STEP_MS);
    await this.#publish();
    for (let left = 10; left > 0; left--) await this.#pass(STEP_MS);
    // It moves to the other node while a retry waits, which is made there, and comes back for the next one.
    await this.#publish();
    await this.#move(this.#first, this.#second);
    for (let left = 3; left > 0; left--) await this.#pass(STEP_MS);
    await this.#move(this.#second, this.#first);
    for (let left = 60; left > 0 && (await this.#open()) > 0; left--) await this.#pass(STEP_MS);
  }

  async judge(): Promise<Report> {
    for (const event of this.#acked) {
      if (!this.#requests.some((one) => one.event === event && one.status === 200))
        this.#wrong.push(`${event} is lost`);
    }
    for (const [event, row] of await this.#rows()) {
      const requests = this.#requests.filter((one) => one.event === event);
      const succeeded = requests.filter(({ status }) => status === 200).length;
      const say = (what: string) => this.#wrong.push(`${event} ${what}: ${JSON.stringify({ row, requests })}`);
      if (row.status !== DELIVERED) say("is not delivered");
      else if (succeeded === 0) say("is delivered, and no receiver said so");
      if (row.status === FAILED) say("has failed");
      if (row.succeeded > succeeded) say("has successes that nobody answered");
      if (row.recorded > requests.length) say("has attempts that nobody made");
      // Each failure is worth one rung, whoever records it.
      if (row.retry > requests.length - succeeded) say("has used a rung twice");
    }
    const sentBy = Map.groupBy(this.#requests, ({ event }) => event);
    return {
      wrong: this.#wrong,
      statements: this.#first.line.count,
      moves: [...this.#first.line.moves],
      sentBy: [...sentBy.values()].map((some) => some.map(({ by }) => by).join(" ")),
    };
  }

  async close(): Promise<void> {
    this.#first.line.resume();
    for (const { store } of [this.#first, this.#second]) await store.close();
  }

  /** A publisher that is not answered tries again, at whichever node there is. */
  async #publish(): Promise<void> {
    for (let tries = 3; tries > 0; tries--) {
      const node = this.#first.ended || this.#first.line.stalled ? this.#second : this.#first;
      const publishing = publishOne(node.store, {}, this.#clock.now()).then(
        (publication) => {
          this.#acked.push(publication.id);
          node.dispatcher.accept(publication);
          return true;
        },
        (error: unknown) => {
          if (!(error instanceof WebhookdError)) throw error;
          return false;
        },
      );
      // Or when it goes on.
      if (await Promise.race([publishing, node.line.onStall.then(() => false)])) return;
      await this.#takeOver();
    }
    throw new Error("nothing could be published");
  }

  async #move(from: Node, to: Node): Promise<void> {
    if (this.#first.ended) return;
    await this.#drain(from, true);
    await this.#drain(to, false);
    for (let left = 3; left > 0; left--) await this.#pass(1000);
  }

  async #drain(node: Node, on: boolean): Promise<void> {
    const number = node.name === "first" ? 0 : 1;
    await this.#client.query("UPDATE node SET draining = $2 WHERE number = $1", [number, on]);
  }

  /** Some time, with what is done each second. */
  async #pass(ms: number): Promise<void> {
    this.#clock.advance(ms);
    await this.#tick([this.#first, this.#second]);
    await this.#takeOver();
  }

  async #tick(nodes: readonly Node[]): Promise<void> {
    for (const node of nodes) {
      if (node === undefined || node.ended || node.line.stalled) continue;
      node.dispatcher.lease.renew().catch(() => {});
      node.dispatcher.tick();
      node.store.upkeep.saveHealth().catch(() => {});
    }
    await this.#rest();
  }

  async #rest(): Promise<void> {
    const isBusy = () => [this.#first, this.#second].some((node) => node !== undefined && node.line.isBusy);
    for (let quiet = 0; quiet < QUIET_MS; quiet += 2) {
      await sleep(2);
      if (isBusy()) quiet = 0;
    }
  }

  /** If the first node stands still: until its lease has run out, and the other one has done what there is to do. */
  async #takeOver(): Promise<void> {
    const { ended, line } = this.#first;
    if (!line.stalled || ended) return;
    const [first, second] = [this.#first, this.#second];
    await this.#drain(second, false);
    for (let left = LEASE_MS / STEP_MS + 1; left > 0; left--) {
      this.#clock.advance(STEP_MS);
      await this.#tick([second]);
    }
    // The server ends a transaction that stands still, and somebody comes by after the lease.
    await this.#client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    );
    await this.#client.query("UPDATE node SET lease_until = now() WHERE number = 0");
    for (let left = 3; left > 0; left--) {
      this.#clock.advance(STEP_MS);
      await this.#tick([second]);
    }
    const [before, sent] = [await this.#state(), this.#sentByFirst()];
    if (this.#happening?.fault !== "killed") {
      line.resume();
      await this.#rest();
      await this.#tick([first]);
      const { rowCount } = await this.#client.query("SELECT 1 FROM node WHERE number = 0 AND lease_until > now()");
      if (rowCount === 0) this.#wrong.push("the first node has not joined again");
      if ((await this.#state()) !== before) this.#wrong.push(`a late node changed ${before} to ${await this.#state()}`);
      if (this.#sentByFirst() !== sent) this.#wrong.push("a late node has begun an attempt");
    }
    if (this.#happening?.fault === "killed") first.ended = true;
  }

  #sentByFirst(): number {
    return this.#requests.filter(({ by }) => by === "first").length;
  }

  async #open(): Promise<number> {
    return (await this.#client.query(`SELECT 1 FROM delivery WHERE status < ${DELIVERED}`)).rowCount!;
  }

  async #state(): Promise<string> {
    return JSON.stringify([...(await this.#rows())]);
  }

  async #rows(): Promise<Map<string, Row>> {
    const { rows } = await this.#client.query<Row & { event: string }>(
      `SELECT d.event::text, d.status, d.attempts, d.retry, d.due_at::text,
         (SELECT count(*)::integer FROM attempt a WHERE a.event = d.event) AS recorded,
         (SELECT count(*)::integer FROM attempt a WHERE a.event = d.event AND a.outcome = 0) AS succeeded
       FROM delivery d ORDER BY d.event`,
    );
    const page = await this.#second.store.reads.listEvents({ tenant: null, limit: 100, order: "oldest" });
    return new Map(rows.map((row, at) => [page.data[at]!.id, row]));
  }
}
