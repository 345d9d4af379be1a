import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { WebServer } from "../../src/api/server/connections.ts";
import type { Bounds, Listener } from "../../src/api/server/listener.ts";
import { createApi } from "../../src/api/api.ts";
import { openListener } from "../../src/api/server/listen.ts";
import { openSocket } from "../../src/api/server/socket.ts";
import type { ApiParts } from "../../src/api/parts.ts";
import { Peers } from "../../src/api/server/socket.ts";
import { Feed } from "../../src/feed/feed.ts";
import type { Route } from "../../src/api/pipeline/route.ts";
import { loadConfig, type Config, urlPolicies } from "../../src/config.ts";
import { addressPolicies } from "../../src/delivery/http/egress.ts";
import { newId } from "../../src/domain/id.ts";
import type { Halt } from "../../src/domain/deliveries/pause.ts";
import { type NewApiKey, type Scope, createToken, hashSecret, parseToken } from "../../src/domain/caller.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { silentLog, type Log } from "../../src/log.ts";
import { loadKoffi } from "../../src/native.ts";
import type { Deliveries } from "../../src/delivery/deliveries.ts";
import type { Outbox } from "../../src/api/parts.ts";
import type { EventDelivery, Handover, Store } from "../../src/store/store.ts";
import { Backups, type BackupRules } from "../../src/upkeep/backups.ts";
import { ManualClock } from "../harness/clock.ts";
import { afterEveryFile } from "../harness/ends.ts";
import { inputs } from "../config/inputs.ts";
import { withCapacity } from "../store/fixtures.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed JSON body; `undefined` if it is not JSON. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface RequestOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sends the body in chunks, without a content-length. */
  readonly chunked?: boolean;
}

export interface ServeOptions extends Partial<
  Pick<ApiParts, "config" | "catalogue" | "running" | "departures" | "portal">
> {
  readonly ownAddresses?: () => readonly string[];
  /** Opens a unix socket at this path as well. */
  readonly socket?: string;
  readonly bounds?: Partial<Bounds>;
  /** False makes Node's HTTP parser read plain publishes too. */
  readonly plain?: boolean;
}

/** The API on a real port, with a store that the test provides. */
export class ApiServer {
  readonly store: Store;
  readonly clock = new ManualClock();
  readonly feed: Feed;
  readonly outboxes: Outbox[] = [];
  readonly accepted: Handover[] = [];
  /** Callbacks that wait for the end of a delivery, by its id. */
  readonly watched = new Map<string, () => void>();
  readonly dropped: string[] = [];
  readonly requested: EventDelivery[] = [];
  readonly withdrawn: EventDelivery[] = [];
  paused = false;
  halts: readonly Halt[] = [];
  backupRules: BackupRules = { every: 0, dir: "/nonexistent/backups", mayMake: false, keep: 7 };
  oldestDueAt: number | null = null;
  queues: ReturnType<Deliveries["queues"]> = [];
  refreshing: (endpoint: string) => Promise<void> = async () => {};
  readonly refreshed: string[] = [];
  readonly logged: { level: string; fields: object; message: string }[] = [];
  phase: "serving" | "draining" | "stopped" = "serving";
  routes!: readonly Route[];
  listener!: Listener;
  server!: WebServer;
  port!: number;
  adminKey!: string;

  private constructor(store: Store) {
    this.store = store;
    this.feed = new Feed({ clock: this.clock, store, capacity: 1000 });
  }

  static async start(store: Store, options: ServeOptions = {}) {
    const server = new ApiServer(store);
    const deliveries = server.#deliveries();
    const config = options.config ?? aConfig();
    const api = createApi({
      store,
      feed: server.feed,
      deliveries,
      metrics: new Metrics({
        store,
        deliveries,
        damaged: () => [],
        outboxes: () => server.outboxes,
        traces: null,
        clock: server.clock,
        version: "0.0.0",
      }),
      clock: server.clock,
      log: server.#log(),
      config,
      ...(options.catalogue && { catalogue: options.catalogue }),
      ...(options.portal && { portal: options.portal }),
      ...(options.departures && { departures: options.departures }),
      ...(options.running && { running: options.running }),
      backups: new Backups({
        store,
        clock: server.clock,
        log: server.#log(),
        rules: () => server.backupRules,
        signal: new AbortController().signal,
      }),
      outboxes: server.outboxes,
      version: "0.0.0",
      hostAheadMs: () => null,
      peers: new Peers({ loadKoffi: () => loadKoffi("/nonexistent"), log: silentLog, platform: process.platform }),
      phase: {
        get now() {
          return server.phase;
        },
      },
      shares: config.tenants,
      urlPolicy: urlPolicies(config, 0, addressPolicies(new ManualClock(), options.ownAddresses ?? (() => []))),
    });
    const web = { log: silentLog, reject: api.reject, bounds: options.bounds ?? {} };
    const listener = await openListener(api.handler(false), {
      host: "127.0.0.1",
      port: 0,
      ...(options.plain !== false && { plain: api.plain }),
      ...web,
    });
    running.add(() => listener.close(100));
    if (options.socket !== undefined) {
      const socket = await openSocket(api.handler(true), { path: options.socket, mode: 0o600, ...web });
      if ("refused" in socket) throw new Error(socket.refused);
      running.add(() => socket.close(100));
    }
    server.routes = api.routes;
    server.listener = listener;
    server.server = listener.server;
    server.port = Number(new URL(listener.url).port);
    server.adminKey = await server.addKey(["admin"], "*");
    return server;
  }

  /** Creates a key and returns its token. */
  async addKey(scopes: readonly Scope[], tenant = "default", more: Partial<NewApiKey> = {}): Promise<string> {
    const id = newId("key", this.clock.now(), crypto.getRandomValues(new Uint8Array(10)));
    const token = createToken(id.slice(4), crypto.getRandomValues(new Uint8Array(32)));
    const hash = hashSecret(parseToken(token)!.secret);
    await this.store.keys.add({ id, name: "", hash, scopes, tenant, expiresAt: null, ...more }, this.clock.now());
    return token;
  }

  /** Uses the admin key of all tenants, unless the options name another key. */
  request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const key = options.key === undefined ? this.adminKey : options.key;
    const headers: Record<string, string> = {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(options.body !== undefined && { "content-type": "application/json" }),
      ...options.headers,
    };
    return send(this.port, method, path, headers, options.body, options.chunked);
  }

  post(path: string, body: unknown, options: Omit<RequestOptions, "body"> = {}): Promise<Answer> {
    return this.request("POST", path, { ...options, body: typeof body === "string" ? body : JSON.stringify(body) });
  }

  get(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.request("GET", path, options);
  }

  #deliveries(): Deliveries {
    const isPaused = () => this.paused;
    const halts = () => this.halts;
    return {
      get halts() {
        return halts();
      },
      get paused() {
        return isPaused();
      },
      pause: async () => void (this.paused = true),
      resume: () => void (this.paused = false),
      inFlight: 0,
      putOff: 0,
      oldestDueAt: () => this.oldestDueAt,
      queues: () => this.queues,
      atOnce: () => 16,
      capacity: withCapacity,
      accept: (handover) => void this.accepted.push(handover),
      replayed: (waiting) => void this.accepted.push({ fresh: [], waiting }),
      released: ({ delivery }, enough) =>
        new Promise<void>((resolve) => {
          this.watched.set(delivery, resolve);
          enough.addEventListener("abort", () => resolve());
        }).finally(() => this.watched.delete(delivery)),
      refresh: async (endpoint) => {
        this.refreshed.push(endpoint);
        await this.refreshing(endpoint);
      },
      refreshAll: async (endpoints) => {
        this.refreshed.push(...endpoints);
        await Promise.all(endpoints.map((endpoint) => this.refreshing(endpoint)));
      },
      drop: async (endpoint) => void this.dropped.push(endpoint),
      attempt: (requested) => void this.requested.push(requested),
      withdraw: async (deliveries) => void this.withdrawn.push(...deliveries),
    };
  }

  #log(): Log {
    const at = (level: string) => (fields: object, message: string) =>
      void this.logged.push({ level, fields, message });
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), isLevelEnabled: () => true };
  }
}

/**
 * Sends a request with Node's own client, because fetch rewrites the headers, methods and targets that these tests are
 * about.
 */
export function send(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = "",
  chunked = false,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body);
    const framing = chunked ? { "transfer-encoding": "chunked" } : length > 0 ? { "content-length": length } : {};
    const all = { ...framing, ...headers };
    const req = httpRequest({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: all,
      agent: false,
      insecureHTTPParser: false,
    });
    req.on("response", (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk) => chunks.push(chunk));
      res.on("end", () => resolve(answerOf(res.statusCode!, res.headers, Buffer.concat(chunks).toString())));
      res.on("error", reject);
    });
    req.on("error", reject);
    req.end(body);
  });
}

/** Sends raw bytes and reads until the server closes the connection, or until `until` is true of the text. */
export function sendRaw(port: number, bytes: string | Uint8Array, until: (text: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (until(text)) end();
    });
    socket.on("close", end);
    socket.on("error", end);
    socket.write(bytes);
  });
}

export function aConfig(settings: Readonly<Record<string, string>> = {}, dir = "/nonexistent", file?: string): Config {
  const all = { DATA_DIR: dir, SERVER_LISTEN: "127.0.0.1:0", ...settings };
  return loadConfig(
    inputs({
      env: Object.fromEntries(Object.entries(all).map(([name, value]) => [`WEBHOOKD_${name}`, value])),
      cwd: "/",
      home: "/",
      platform: process.platform,
      readFile: () => file ?? null,
    }),
  );
}

function answerOf(status: number, headers: IncomingHttpHeaders, text: string): Answer {
  const isJson = headers["content-type"]?.endsWith("json") === true;
  return { status, headers, text, body: isJson && text !== "" ? JSON.parse(text) : undefined };
}

const running = new Set<() => Promise<void>>();

afterEveryFile(async () => {
  for (const stop of running) await stop();
  running.clear();
});
