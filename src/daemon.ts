/** The composition root: the only place where the parts are joined. Config → store → dispatcher → API → schedule. */
import { Alerts } from "./alerts/alerts.ts";
import { createApi } from "./api/api.ts";
import { Catalogue } from "./api/event-types/catalogue.ts";
import { usableCertificate } from "./api/server/certificate.ts";
import { requireFree } from "./api/server/listen.ts";
import { Peers } from "./api/server/socket.ts";
import { DatabaseClock, hostAheadMs, systemClock, type Clock } from "./clock.ts";
import type { Config, Reread } from "./config.ts";
import { choresOf, switchSecrets, TICK, startSchedule, type Chore, type Schedule } from "./daemon/chores.ts";
import { Front } from "./daemon/front.ts";
import { Reloaded } from "./daemon/reloaded.ts";
import { loadSenders } from "./daemon/senders.ts";
import { Dispatcher } from "./delivery/dispatcher.ts";
import type { Network } from "./delivery/http/egress.ts";
import { askResolvers, type AskResolvers } from "./delivery/http/resolver.ts";
import type { StartThread } from "./delivery/threads/thread-port.ts";
import { damageText } from "./domain/wording.ts";
import { portOf } from "./domain/network/url.ts";
import { Feed } from "./feed/feed.ts";
import type { Log } from "./log.ts";
import { Metrics } from "./metrics/metrics.ts";
import { giveBackMemory, loadKoffi, nativeBinding } from "./native.ts";
import type { Outboxes, OutboxesParts } from "./outbox/outboxes.ts";
import type { Store } from "./store/store.ts";
import type { Traces, TracesParts } from "./telemetry/traces.ts";
import { openStore } from "./store/opening/open.ts";
import { startThread } from "./thread.ts";
import { Backups } from "./upkeep/backups.ts";
import { DamagedEndpoints, MemoryWatch } from "./upkeep/watches.ts";
import { version } from "./build.ts";

/** The parts that a test may replace, and those that a process receives at its start. */
export interface DaemonParts {
  readonly log: Log;
  /** The descriptor of a TCP socket that is already listening. Null or absent to open one. */
  readonly listenFd: number | null;
  /** The clock for everything, even for a store in PostgreSQL, whose own clock is then not used. */
  readonly clock: Clock;
  /** This host's clock, which a store in PostgreSQL corrects. */
  readonly hostClock: Clock;
  /** Works only with `threads = 0`, because functions cannot be sent to a thread. */
  readonly network: Network & { readonly askResolvers?: AskResolvers };
  readonly startSender: StartThread;
  /** The length of leases in PostgreSQL. On a clock that a test moves, no lease would last. */
  readonly leaseMs: number;
  readonly schedule: (chores: readonly Chore[], log: Log) => Schedule;
}

export interface Daemon {
  readonly url: string;
  readonly socket: string | null;
  /** True if this start created the store. */
  readonly created: boolean;
  readonly adminKeyFile: string | null;
  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void>;
  /**
   * Applies the configuration that was read at SIGHUP, and logs in one line which changes took effect and which did
   * not. If part of it is unusable, rejects and changes nothing. Do not call it again before it has ended.
   */
  reload(reread: Reread): Promise<void>;
  /** Runs the chores of one second. */
  tick(): Promise<void>;
  /** Lets attempts in flight end, then stops listening and closes the store. Accepts publishes until then. */
  stop(): Promise<void>;
  /** Ends attempts in flight as `interrupted`, so that `stop` resolves at once. */
  abort(): void;
  /** Resolves with the error that keeps the daemon from going on. */
  readonly failed: Promise<Error>;
}

const IDS_AHEAD =
  "the id of the latest event is ahead of the clock, which was ahead once, or is behind now: make sure that it is right. When events are received goes by the clock; their ids are ahead until it has caught up";
const STARTED_PAUSED = { reason: "started with --paused", by: "serve --paused" };

export async function startDaemon(
  config: Config,
  parts: Pick<DaemonParts, "log"> & Partial<DaemonParts>,
): Promise<Daemon> {
  process.umask(0o077);
  const { hostClock = systemClock } = parts;
  const clock = config.data.store === "" ? hostClock : new DatabaseClock(hostClock);
  const joined = await join(config, { clock, schedule: startSchedule, listenFd: null, ...parts });
  const front = await open(joined);
  return run(joined, front);
}

type JoinedParts = Awaited<ReturnType<typeof join>>;
type GivenParts = Pick<DaemonParts, "log" | "clock" | "schedule" | "listenFd"> & Partial<DaemonParts>;

/** Creates and joins all parts of the daemon. This sends nothing yet and does not listen. */
async function join(config: Config, parts: GivenParts) {
  const { log, clock, listenFd, network, schedule, leaseMs } = parts;
  const startedAt = clock.now();
  const certificate = config.server.tls && usableCertificate(config.server.tls, { log, now: startedAt });
  const fault = new FirstFault();
  const ending = new AbortController();
  const reloaded = new Reloaded(config, clock);
  const { store, created, adminKeyFile, wasKilled } = await openConfigured(config, {
    clock,
    log,
    listenFd,
    leaseMs,
    fault,
    reloaded,
  });
  const traces = await openTraces(config, { clock, log, version, tenantOf: (id) => dispatcher.tenantOf(id) });
  const own = { store, clock, log, signal: ending.signal, traces };
  const catalogue = await openCatalogue(config, { store, clock, fault });
  const senders = await loadSenders(config, { ...parts, isSuspicious: wasKilled || store.recovery.careful });
  const feed = new Feed(own);
  const alerts = new Alerts({ ...own, deliveries: () => dispatcher, isFirst: () => dispatcher.lease.isFirst });
  const dispatcher = new Dispatcher({
    ...own,
    sending: senders,
    onFault: fault.note,
    ...deliveryRules(config),
    askResolvers: network === undefined ? askResolvers : (network.askResolvers ?? (async () => null)),
    watchers: traces === null ? [feed, alerts] : [feed, alerts, traces],
  });
  const onFailed = (detail: string) => alerts.backupFailed(detail);
  const backups = new Backups({ ...own, rules: () => reloaded.backup, onFailed });
  const damagedEndpoints = new DamagedEndpoints({ ...own, onFound: (endpoint) => alerts.damaged(endpoint) });
  const damaged = () => damagedEndpoints.all;
  const onFault = (outbox: string, detail: string) => alerts.outboxFault(outbox, detail);
  const outboxes = await openOutboxes(config, { ...own, catalogue, deliveries: dispatcher, onFault });
  const readers = outboxes?.readers ?? [];
  const metrics = new Metrics({ ...own, deliveries: dispatcher, damaged, outboxes: () => readers, version });
  const phase: { now: "serving" | "draining" | "stopped" } = { now: "serving" };
  const joined = { ...own, config, catalogue, feed, metrics };
  const api = createApi({
    ...joined,
    deliveries: dispatcher,
    hostAheadMs: () => hostAheadMs(clock),
    version,
    phase,
    backups,
    damaged,
    outboxes: readers,
    peers: new Peers({ loadKoffi: () => loadKoffi(config.data.dir), log, platform: process.platform }),
    departures: reloaded.departures,
    running: reloaded.running,
    urlPolicy: reloaded.urlPolicy,
    portal: reloaded.portal,
    shares: reloaded.shares,
  });
  const memory = new MemoryWatch({ cpuMs, giveBack: () => giveBackMemory(config.data.dir) });
  const watched = { alerts, backups, catalogue, damagedEndpoints, dispatcher, memory, outboxes, reloaded };
  const opening = { startedAt, certificate, listenFd, created, adminKeyFile: adminKeyFile ?? null, fault, ending };
  return { ...joined, ...opening, ...watched, phase, api, chores: choresOf({ ...own, ...watched }), schedule };
}

/** Takes over what the last process left, begins to send, and opens the listeners of the API. */
async function open(joined: JoinedParts): Promise<Front> {
  const { alerts, clock, config, dispatcher, fault, log, reloaded, startedAt, store } = joined;
  try {
    if (config.paused) await store.operations.pause({ ...STARTED_PAUSED, at: clock.now() });
    await switchSecrets({ store, clock, refresh: (endpoint) => dispatcher.refresh(endpoint) });
    await alerts.configure(config, reloaded.urlPolicy);
    await alerts.takeUp();
    const idsAheadMs = store.events.idsAheadMs(clock.now());
    if (idsAheadMs !== null) log.warn({ ahead_ms: idsAheadMs }, IDS_AHEAD);
    const damage = await store.operations.damage();
    if (damage !== null && damage.at >= startedAt) alerts.storageFault(`${damageText(damage)}; ${damage.file} is kept`);
    await dispatcher.start();
    const pause = await store.operations.getPause();
    if (pause !== null)
      log.warn({ ...pause, at: new Date(pause.at).toISOString() }, "paused: no attempt starts until `webhookd resume`");
    const front = await Front.open(joined);
    const port = portOf(new URL(front.tcp.url));
    if (port !== config.server.listen.port) dispatcher.setEgress(reloaded.use(config, port));
    return front;
  } catch (error) {
    await dispatcher.stop();
    await store.close();
    throw fault.first ?? (await refusalOf(error, config));
  }
}

/** Refusals by PostgreSQL after the store was opened are not bugs either. */
async function refusalOf(error: unknown, { data }: Config): Promise<unknown> {
  return data.store === "" ? error : (await import("./store/postgres/opening.ts")).refusalOf(error, data.store);
}

function run(joined: JoinedParts, front: Front): Daemon {
  const { alerts, catalogue, chores, clock, dispatcher, log, metrics, outboxes, phase, reloaded, store, traces } =
    joined;
  const [url, socket] = [front.tcp.url, front.socket?.url ?? null];
  const running = joined.schedule(chores, log);
  metrics.loopDelay.start();
  outboxes?.start();
  log.info({ url, socket, version }, "listening");

  let stopped: Promise<void> | null = null;
  const stop = async () => {
    phase.now = "draining";
    log.info({}, "draining");
    running.stop();
    metrics.loopDelay.stop();
    joined.ending.abort();
    joined.feed.end();
    // Nothing may be published once the store is closed.
    await outboxes?.stop();
    await dispatcher.stop();
    // The next start sends alerts about the failures so far.
    await alerts.end();
    await front.close(() => {
      phase.now = "stopped";
      log.info({}, "no longer listening");
    });
    await store.close();
    await traces?.end();
    log.info({}, "stopped");
  };
  return {
    url,
    socket,
    created: joined.created,
    adminKeyFile: joined.adminKeyFile,
    async reload({ config: next, changed, needsRestart }) {
      // Do first what may be refused.
      const { tls } = next.server;
      const certificate = tls && usableCertificate(tls, { log, now: clock.now() });
      const types = await catalogue.check(next);
      await alerts.configure(next, reloaded.policies(next));
      catalogue.use(types);
      dispatcher.setEgress(reloaded.use(next));
      if (certificate !== null) front.tcp.renew(certificate);
      const renewed = certificate && { certificate: "renewed" };
      log.info({ changed, needs_restart: needsRestart, ...renewed }, "SIGHUP: the configuration was read again");
    },
    idle: () => dispatcher.idle(),
    tick: async () => {
      for (const { name, run: runOnce } of chores) if (TICK.includes(name)) await runOnce();
    },
    stop: () => (stopped ??= stop()),
    abort: () => dispatcher.abort(),
    failed: joined.fault.happened,
  };
}

/** The CPU time of all threads since the process began. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function deliveryRules({ endpoints, limits, retry }: Config) {
  return {
    ladder: retry.delays,
    timeoutMs: retry.timeout,
    maxRetryAfter: retry.maxRetryAfter,
    loadedBytes: limits.inFlightBytes,
    autoDisable: { onGone: endpoints.disableOnGone, afterMs: endpoints.disableAfter },
  };
}

/** Few daemons are traced, so do not load the code and its packages for the others. */
async function openTraces({ telemetry }: Config, parts: TracesParts): Promise<Traces | null> {
  if (telemetry.otlp === "") return null;
  const { Traces } = await import("./telemetry/traces.ts");
  return new Traces(telemetry, parts);
}

/** Few daemons read an outbox, so do not load its code for the others. */
async function openOutboxes(
  config: Config,
  parts: Pick<OutboxesParts, "catalogue" | "clock" | "deliveries" | "log" | "onFault" | "store" | "traces">,
): Promise<Outboxes | null> {
  if (config.outboxes.length === 0) return null;
  const { Outboxes } = await import("./outbox/outboxes.ts");
  const { maxEventBytes } = config.server;
  return new Outboxes(config.outboxes, { ...parts, maxEventBytes, nativeBinding: nativeBinding(config.data.dir) });
}

async function openCatalogue(config: Config, parts: { fault: FirstFault; store: Store; clock: Clock }) {
  const { fault, store } = parts;
  try {
    return await Catalogue.open(config, parts);
  } catch (error) {
    await store.close();
    throw fault.first ?? (await refusalOf(error, config));
  }
}

/** Keeps the first error that stops the daemon, because the errors that follow from it say less. */
class FirstFault {
  first: Error | null = null;
  readonly #known = Promise.withResolvers<Error>();
  readonly happened = this.#known.promise;

  readonly note = (error: unknown): void => {
    this.first ??= error instanceof Error ? error : new Error(String(error));
    this.#known.resolve(this.first);
  };
}

type Opening = Pick<DaemonParts, "clock" | "log" | "listenFd"> & {
  readonly leaseMs: number | undefined;
  readonly fault: FirstFault;
  readonly reloaded: Reloaded;
};

async function openConfigured(config: Config, opening: Opening) {
  const { clock, log, listenFd, fault, reloaded } = opening;
  const { data, server } = config;
  const requirePort = async () => {
    if (listenFd === null) await requireFree(server.listen);
  };
  const parts = {
    maxPendingPerTenant: config.limits.maxPendingPerTenant,
    shares: reloaded.shares,
    clock,
    log,
    nativeBinding: nativeBinding(data.dir),
    onFault: fault.note,
  };
  if (data.store !== "") {
    // Most daemons do not use PostgreSQL, so do not load its code for them.
    const { openServed } = await import("./store/postgres/opening.ts");
    // Check the port first: a node that joins and ends at once takes endpoints from the others, and meanwhile nobody
    // sends to them.
    const beforeComing = data.nodes ? requirePort : undefined;
    return openServed({ ...data, ...parts, url: data.store, leaseMs: opening.leaseMs, version, beforeComing });
  }
  return openStore({
    ...parts,
    dir: data.dir,
    create: data.create,
    // Check the port first, so that a daemon started twice by mistake, with two directories, does not create a second
    // store with its own key.
    beforeMaking: requirePort,
    migrate: data.migrate,
    backup: config.backup,
    secretKeyFile: data.secretKeyFile,
    diskFloor: data.diskFloor,
    startBackup: (data) => startThread("backup", data),
    // `threads = 0` asks for one thread for everything.
    startReader: config.delivery.threads === 0 ? undefined : (data) => startThread("reader", data),
    defer: clock.nextTurn,
  });
}
