import { OF_REFUSALS } from "../../../src/api/pipeline/limits.ts";
import type { Route } from "../../../src/api/pipeline/route.ts";
import { WebhookdError } from "../../../src/domain/errors.ts";
import type { Scope } from "../../../src/domain/caller.ts";
import type { Store } from "../../../src/store/store.ts";
import { Description } from "./described.ts";
import { aConfig, ApiServer, type Answer } from "../server.ts";
import { anEnd, anEvent, aStore, damage, damageKeys } from "../sqlite.ts";
import { around } from "../../harness/store.ts";

/** A request to an operation. */
export interface Step {
  /** The value for `{id}` in the path. */
  readonly id?: string;
  readonly query?: string;
  /** JSON, or text that is sent unchanged. */
  readonly body?: unknown;
  readonly key?: string | null;
  /** A list is sent as several headers of the same name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** The store's methods that authenticate a request. */
const KEYS: readonly string[] = ["keys.get", "keys.touch"];

/** The time between refusals to one address. */
const PACE_MS = 1000 / OF_REFUSALS.perSecond;

/** The API with its description: every response is checked against it, and recorded. */
export class Walk {
  api!: ApiServer;
  description!: Description;
  /** The statuses and problem codes that each operation responded with. */
  readonly seen = new Map<string, Set<string>>();
  readonly faults: string[] = [];
  /** The error that the store's methods throw. Null lets them work. */
  failing: { error: Error; keysToo: boolean } | null = null;
  /** Makes a part of the endpoint unreadable. */
  damage!: (endpoint: string) => void;
  /** Makes the private keys of all tenants unreadable. */
  damageKeys!: () => void;
  /** Publishes wait until this resolves. */
  gate: Promise<void> = Promise.resolve();

  static async start(): Promise<Walk> {
    const walk = new Walk();
    const settings = { LIMITS_COMMIT_QUEUE: "1", ENDPOINTS_MAX_PER_TENANT: "100" };
    const store = await aStore();
    walk.damage = (endpoint) => damage(store, endpoint);
    walk.damageKeys = () => damageKeys(store);
    walk.api = await ApiServer.start(walk.#over(store), { config: aConfig(settings) });
    walk.description = new Description((await walk.api.get("/openapi.json")).body);
    return walk;
  }

  get now(): number {
    return this.api.clock.now();
  }

  /** Returns an id with this prefix that does not exist. */
  unknown(prefix: string): string {
    return `${prefix}_${"0".repeat(26)}`;
  }

  async call(operationId: string, { id = "", query, body, key, headers = {} }: Step = {}): Promise<Answer> {
    const { method, path } = this.#operation(operationId);
    const target = path.replace(/\{\w+\}/, id) + (query === undefined ? "" : `?${query}`);
    const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    // Node's client sends a list as several headers, although the harness's types do not allow one.
    const all = headers as Record<string, string>;
    const options = { headers: all, ...(text !== undefined && { body: text }), ...(key !== undefined && { key }) };
    // Refusals are paced, and the walk contains many of them.
    this.api.clock.advance(PACE_MS);
    const answer = await this.api.request(method, target, options);
    const seen = this.seen.get(operationId) ?? new Set();
    this.seen.set(operationId, seen.add(answer.body?.code ?? String(answer.status)));
    const found = this.description.faultsOf(method, path, answer);
    this.faults.push(...found.map((fault) => `${operationId} ${answer.status}: ${fault}`));
    return answer;
  }

  routeOf(operationId: string): Route {
    return this.api.routes.find(({ operation }) => operation.id === operationId)!;
  }

  /** Creates an endpoint for one test and returns its id. */
  async endpoint(more: object = {}): Promise<string> {
    const registration = { url: "https://example.com/h", events: ["budget.exceeded"], ...more };
    return (await this.api.post("/v1/webhooks", registration)).body.id;
  }

  /** Publishes an event whose deliveries, to all endpoints, have ended in this status. */
  event(end: "delivered" | "failed", type = "budget.exceeded"): Promise<string> {
    return anEvent(this.api.store, this.now, end, { type });
  }

  /** Ends the attempt that a request waits for. */
  async endWaited(): Promise<void> {
    while (this.api.watched.size === 0) await new Promise(setImmediate);
    const claim = this.api.accepted.at(-1)!.fresh[0]!;
    await this.api.store.deliveries.record([anEnd(claim, this.now, "delivered")]);
    this.api.watched.get(claim.delivery)!();
  }

  keyOf(...scopes: Scope[]): Promise<string> {
    return this.api.addKey(scopes);
  }

  #operation(id: string) {
    return this.description.operations().find(({ operation }) => operation.operationId === id)!;
  }

  #over(store: Store): Store {
    return around(store, (verb, call) => {
      if (this.failing !== null && (this.failing.keysToo || !KEYS.includes(verb))) throw this.failing.error;
      return verb === "events.publish" ? this.gate.then(call) : call();
    });
  }
}

type Fault = (walk: Walk, operation: string, wellFormed: Step) => Promise<unknown>;

/** Makes the request that gets each of the pipeline's own responses, for any operation. */
export const PIPELINE: Record<string, Fault> = {
  bad_request: (walk, id, step) => walk.call(id, { ...step, headers: { origin: ["https://a.example", "https://b"] } }),
  misdirected: (walk, id, step) => walk.call(id, { ...step, headers: { host: "evil.example" } }),
  browser_origin: (walk, id, step) => walk.call(id, { ...step, headers: { origin: "https://evil.example" } }),
  unauthorized: (walk, id, step) => walk.call(id, { ...step, key: null }),
  invalid_query: (walk, id, step) =>
    walk.call(id, { ...step, query: walk.routeOf(id).query === "any" ? "%zz" : "nope=1" }),
  invalid_json: (walk, id, step) => walk.call(id, { ...step, body: "{" }),
  unsupported_media_type: (walk, id, step) =>
    walk.call(id, { ...step, body: "x", headers: { "content-type": "text/plain" } }),
  payload_too_large: (walk, id, step) =>
    walk.call(id, { ...step, body: " ".repeat(walk.routeOf(id).body!.maxBytes + 1) }),
  validation_failed: (walk, id, step) => {
    const hasBody = walk.routeOf(id).body !== undefined;
    return walk.call(id, hasBody ? { ...step, body: { nope: 1 } } : { ...step, headers: { "idempotency-key": "a b" } });
  },
  async forbidden(walk, id, step) {
    const scope = walk.routeOf(id).access === "metrics" ? "publish" : "metrics";
    return walk.call(id, { ...step, key: await walk.keyOf(scope) });
  },
  async idempotency_mismatch(walk, id, step) {
    const headers = { "idempotency-key": `of ${id}`.replace(" ", "-") };
    const other = id === "publishBatch" ? "publishEvent" : "publishBatch";
    const event = { type: "budget.exceeded", data: { of: id } };
    await walk.call(other, { body: other === "publishBatch" ? { events: [event] } : event, headers });
    if (id !== "publishEvent") return walk.call(id, { ...step, headers });
    await walk.call(id, { body: event, headers: { "idempotency-key": "event" } });
    return walk.call(id, { ...step, headers: { "idempotency-key": "event" } });
  },
  async overloaded(walk, id, step) {
    const gate = Promise.withResolvers<void>();
    walk.gate = gate.promise;
    const both = [walk.call(id, step), walk.call(id, step)];
    await Promise.race(both);
    gate.resolve();
    return Promise.all(both);
  },
  async shutting_down(walk, id, step) {
    walk.api.phase = "stopped";
    await walk.call(id, step).finally(() => (walk.api.phase = "serving"));
  },
  internal: (walk, id, step) => failing(walk, new Error("a bug"), true, () => walk.call(id, step)),
  storage_unavailable: (walk, id, step) =>
    failing(walk, new WebhookdError("storage_unavailable", "no"), true, () => walk.call(id, step)),
  storage_full: (walk, id, step) =>
    failing(walk, new WebhookdError("storage_full", "no"), false, () => walk.call(id, step)),
  async not_found(walk, id, step) {
    const { params } = walk.routeOf(id).operation!;
    return walk.call(id, { ...step, id: walk.unknown(params!.id!) });
  },
};

async function failing(walk: Walk, error: Error, keysToo: boolean, call: () => Promise<unknown>): Promise<void> {
  walk.failing = { error, keysToo };
  await call().finally(() => (walk.failing = null));
}
