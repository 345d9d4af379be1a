/**
 * Two nodes on a real PostgreSQL, and a few events: they are published, sent, recorded and retried, and their endpoint
 * moves to the other node and back. A fault happens at one of the first node's statements. The test moves the time and
 * responds as the receiver.
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
 * A node stalled before or after the statement resumes once the other node has taken over, and a killed one never does.
 * A lost statement took effect without a response, and a refused one did not. With `ahead` or `behind`, the clock of
 * the node's host jumps and stays there.
 */
export const FAULTS = ["stalled before", "stalled after", "killed", "lost", "refused", "ahead", "behind"] as const;
export type Fault = (typeof FAULTS)[number];

/** The fault, and the number of the first node's statement at which it happens. Numbers start with its first event. */
export interface Happening {
  readonly at: number;
  readonly fault: Fault;
}

const LEASE_MS = 60_000;
const STEP_MS = 20_000;
/** Everything has ended once the database has had no query for this long. */
const QUIET_MS = 6;
const MOVES = /INSERT INTO delivery|UPDATE delivery|UPDATE slot/;

const JUMPS: Partial<Record<Fault, number>> = { ahead: 86_400_000, behind: -86_400_000 };
/** The constant error of the second host's clock. */
const SKEW_MS = -3000;

/** A node's clock on a host whose clock is wrong. Its database uses the clock of the test. */
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
    this.observe();
  }

  override observe(): void {
    const at = this.#world.monotonic();
    super.observe(this.#world.now(), at, at);
  }

  jump(ms: number): void {
    this.#host.aheadMs += ms;
  }
}

/** The connection between a node and its database, with the fault. */
class Line {
  readonly #happening: Happening | null;
  readonly #clock: NodeClock;
  readonly #go = Promise.withResolvers<void>();
  readonly #stalled = Promise.withResolvers<void>();
  #counts = false;
  #hasGoneOn = false;
  count = 0;
  /** The statements that begin a transaction in which a delivery or an endpoint moves. */
  readonly moves = new Set<number>();
  #busy = 0;
  stalled = false;

  constructor(happening: Happening | null, clock: NodeClock) {
    this.#happening = happening;
    this.#clock = clock;
  }

  /** Resolves when the node stalls, which happens at most once. */
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

  /** Every later query of the node passes through this. */
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
  /** True once the node learnt that it has lost its endpoints, and ended. */
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

/** The violations found, and the number of statements that the first node made. */
export interface Report {
  readonly wrong: readonly string[];
  readonly statements: number;
  /** The statements that begin a transaction in which something moves. */
  readonly moves: readonly number[];
  /** The nodes that made the attempts, for each event. */
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
    // The endpoint moves to the other node while a retry waits. The retry is made there, and the endpoint moves back
    // for the next one.
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
      // Each failure uses one rung, whichever node records it.
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

  /** Publishes an event. Without a response it tries again, at either node. */
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
      // A stalled publish ends too, once the node resumes.
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

  /** Lets time pass, and runs the scheduled tasks. */
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

  /**
   * If the first node is stalled, lets time pass until its lease has expired and the other node has done all the work.
   */
  async #takeOver(): Promise<void> {
    const { ended, line } = this.#first;
    if (!line.stalled || ended) return;
    const [first, second] = [this.#first, this.#second];
    await this.#drain(second, false);
    for (let left = LEASE_MS / STEP_MS + 1; left > 0; left--) {
      this.#clock.advance(STEP_MS);
      await this.#tick([second]);
    }
    // PostgreSQL would end a stalled transaction itself, and the lease would expire. The test now does both.
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
