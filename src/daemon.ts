/**
 * The composition root: the one place where the parts are joined. Config → store → dispatcher → API → schedule.
 */
import { Alerts } from "./alerts/alerts.ts";
import { createApi } from "./api/api.ts";
import { type NodeHandler, closeAll, type Listener, type ListenerParts } from "./api/server/listener.ts";
import { openInherited } from "./api/server/inherited.ts";
import { openListener, requireFree, type TcpListener } from "./api/server/listen.ts";
import { Peers } from "./api/server/peer.ts";
import { renewed, usableCertificate } from "./api/server/certificate.ts";
import { openSocket } from "./api/server/socket.ts";
import { Catalogue } from "./api/event-types/catalogue.ts";
import { systemClock, type Clock } from "./clock.ts";
import { departures, type Config, type Reread } from "./config.ts";
import { addressRules, egressSettings, urlPolicies } from "./config/endpoint-rules.ts";
import { Dispatcher } from "./delivery/dispatcher.ts";
import type { Network } from "./delivery/http/egress.ts";
import { addressPolicies, askResolvers, openFilesLimit, type AskResolvers } from "./delivery/http/this-host.ts";
import type { SenderSettings } from "./delivery/send/open-sender.ts";
import type { SenderThreadData } from "./delivery/threads/messages.ts";
import type { Ended } from "./domain/attempt.ts";
import type { Sending } from "./delivery/send/sending.ts";
import type { StartThread } from "./delivery/threads/thread-port.ts";
import { SenderPool } from "./delivery/threads/sender-pool.ts";
import { roomWithin } from "./domain/open-files.ts";
import { damageText } from "./domain/damage.ts";
import { JobRunner } from "./jobs/runner.ts";
import { Feed } from "./feed/feed.ts";
import type { Endpoint } from "./domain/endpoint.ts";
import type { Log } from "./log.ts";
import { Metrics } from "./metrics/metrics.ts";
import { loadKoffi, nativeBinding } from "./native.ts";
import { startSchedule, type Chore, type Schedule } from "./schedule.ts";
import { openStore } from "./store/opening/open.ts";
import { startThread } from "./thread.ts";
import { saveCounters } from "./upkeep/counters.ts";
import { Backups } from "./upkeep/backups.ts";
import { DamagedEndpoints } from "./upkeep/damaged-endpoints.ts";
import { forgetIdempotencyKeys } from "./upkeep/idempotency.ts";
import { Retention } from "./upkeep/retention.ts";
import { SpaceWatch } from "./upkeep/space.ts";
import { switchSecrets } from "./upkeep/secret-switch.ts";
import { portOf } from "./domain/url.ts";
import { version } from "./version.ts";

/** What a test may replace, and what a process is given at its start. */
export interface DaemonParts {
  readonly log: Log;
  /** Descriptor of a TCP socket that listens already; null, as if not given, to open one. */
  readonly listenFd: number | null;
  readonly clock: Clock;
  /** Only with `threads = 0`: functions cannot be sent to a thread. */
  readonly network: Network & { readonly askResolvers?: AskResolvers };
  readonly startSender: StartThread;
  readonly schedule: (chores: readonly Chore[], log: Log) => Schedule;
}

export interface Daemon {
  readonly url: string;
  readonly socket: string | null;
  /** Whether the store was made by this start. */
  readonly created: boolean;
  readonly adminKeyFile: string | null;
  /** Resolves when nothing is due, in flight or unrecorded. */
  idle(): Promise<void>;
  /** Takes up what was read at SIGHUP, and says in one line of the log what changed and what did not. */
  reload(reread: Reread): void;
  /** What the schedule does each second. */
  tick(): Promise<void>;
  /** Ends attempts in flight, then stops listening and closes the store; publishes are taken until then. */
  stop(): Promise<void>;
  /** Ends attempts in flight as `interrupted`, so that `stop` resolves at once. */
  abort(): void;
  /** Resolves with the error after which the daemon cannot go on. */
  readonly failed: Promise<Error>;
}

export async function startDaemon(
  config: Config,
  parts: Pick<DaemonParts, "log"> & Partial<DaemonParts>,
): Promise<Daemon> {
  const { log, clock = systemClock, schedule = startSchedule, listenFd = null } = parts;
  process.umask(0o077);
  const startedAt = clock.now();
  const certificate = config.server.tls && usableCertificate(config.server.tls, { log, now: clock.now() });
  const fault = Promise.withResolvers<Error>();
  let first: Error | null = null;
  const onFault = (error: unknown) => {
    first ??= error instanceof Error ? error : new Error(String(error));
    fault.resolve(first);
  };

  const { store, created, adminKeyFile } = await openStore({
    dir: config.data.dir,
    create: config.data.create,
    // A daemon that is started twice by mistake, with two directories, leaves no second store with a key of its own.
    beforeMaking: listenFd === null ? () => requireFree(config.server.listen) : undefined,
    migrate: config.data.migrate,
    backup: config.backup,
    secretKeyFile: config.data.secretKeyFile,
    diskFloor: config.data.diskFloor,
    maxPendingPerTenant: config.limits.maxPendingPerTenant,
    clock,
    log,
    nativeBinding: nativeBinding(config.data.dir),
    startBackup: (data) => startThread("backup", data),
    onFault,
    defer: clock.nextTurn,
  });

  const catalogue = await Catalogue.open(config, store).catch(async (error: unknown) => {
    await store.close();
    throw first ?? error;
  });

  let sending: Sending | null = null;
  const openSending = await sendingFor(config, { ...parts, clock });
  const feed = new Feed({ clock, store });
  const alerts = new Alerts({ clock, store, deliveries: () => dispatcher });
  const dispatcher = new Dispatcher({
    store,
    clock,
    log,
    onFault,
    ladder: config.retry.delays,
    timeoutMs: config.retry.timeout,
    askResolvers: parts.network === undefined ? askResolvers : (parts.network.askResolvers ?? (async () => null)),
    maxRetryAfter: config.retry.maxRetryAfter,
    loadedBytes: config.limits.inFlightBytes,
    autoDisable: { onGone: config.endpoints.disableOnGone, afterMs: config.endpoints.disableAfter },
    watchers: [feed, alerts],
    sending: (onEnded) => (sending = openSending(onEnded)),
  });
  const ending = new AbortController();
  let { egress, retention: rules, backup: backupRules } = config;
  const policyOf = addressPolicies(clock);
  let ownPort = config.server.listen.port;
  let urlPolicy = urlPolicies(config, ownPort, policyOf);
  const useEgress = (given: Config) => {
    egress = given.egress;
    urlPolicy = urlPolicies(given, ownPort, policyOf);
    sending?.setEgress(addressRules(given, ownPort));
  };
  const onFailed = (detail: string) => alerts.backupFailed(detail);
  const backups = new Backups({ store, clock, log, rules: () => backupRules, signal: ending.signal, onFailed });
  const onFound = (endpoint: Endpoint) => alerts.damaged(endpoint);
  const damagedEndpoints = new DamagedEndpoints({ store, clock, log, signal: ending.signal, onFound });
  const damaged = () => damagedEndpoints.all;
  const metrics = new Metrics({ store, deliveries: dispatcher, damaged, clock, version });
  let phase: "serving" | "draining" | "stopped" = "serving";
  const api = createApi({
    store,
    deliveries: dispatcher,
    feed,
    clock,
    log,
    config,
    catalogue,
    metrics,
    version,
    phase: () => phase,
    backups,
    damaged,
    peers: new Peers({ loadKoffi: () => loadKoffi(config.data.dir), log, platform: process.platform }),
    departures: () => departures({ ...config, egress }),
    urlPolicy: (tenant) => urlPolicy(tenant),
  });

  const web: ListenerParts = { log, reject: api.reject };
  const endOverlaps = () => switchSecrets({ store, clock, refresh: (endpoint) => dispatcher.refresh(endpoint) });
  let listener: TcpListener;
  let socket: Listener | null = null;
  try {
    if (config.paused) await store.operations.pause({ ...STARTED_PAUSED, at: clock.now() });
    await endOverlaps();
    await alerts.configure(config, urlPolicy);
    const damage = await store.operations.damage();
    if (damage !== null && damage.at >= startedAt) alerts.storageFault(`${damageText(damage)}; ${damage.file} is kept`);
    await dispatcher.start();
    const pause = await store.operations.getPause();
    if (pause !== null)
      log.warn({ ...pause, at: new Date(pause.at).toISOString() }, "paused: no attempt starts until `webhookd resume`");
    // First: a command that finds no socket goes to the port, where it needs a key.
    socket = await openOptionalSocket(config, api.handler(true), web);
    const place = { ...config.server.listen, ...web, certificate };
    listener = await (listenFd === null
      ? openListener(api.handler(false), place)
      : openInherited(api.handler(false), { ...place, fd: listenFd }));
    const port = portOf(new URL(listener.url));
    if (port !== ownPort) useEgress(((ownPort = port), config));
  } catch (error) {
    await (socket as Listener | null)?.close(CLOSE_DEADLINE_MS);
    await dispatcher.stop();
    await store.close();
    throw first ?? error;
  }

  const pace = { clock, signal: ending.signal };
  const retention = new Retention({ ...pace, store, log, rules: () => rules });
  const space = new SpaceWatch({
    ...pace,
    store,
    log,
    onSpace: (left) => alerts.space(left),
    onTrouble: (detail) => alerts.storageFault(detail),
  });
  const jobs = new JobRunner({ ...pace, store, deliveries: dispatcher });
  const running = schedule(
    [
      { name: "tick", pattern: "* * * * * *", run: () => dispatcher.tick() },
      { name: "jobs", pattern: "* * * * * *", run: () => jobs.run() },
      { name: "sweep", pattern: "30 * * * * *", run: () => dispatcher.sweep() },
      { name: "secret switch", pattern: "* * * * * *", run: endOverlaps },
      { name: "damaged endpoints", pattern: "* * * * * *", run: () => damagedEndpoints.run() },
      { name: "health", pattern: "* * * * * *", run: () => store.upkeep.saveHealth() },
      { name: "free space", pattern: "*/2 * * * * *", run: () => space.run() },
      { name: "alerts", pattern: "* * * * * *", run: () => alerts.run() },
      { name: "idempotency keys", pattern: "30 * * * * *", run: () => forgetIdempotencyKeys(store, pace) },
      { name: "old events", pattern: "0 * * * * *", run: () => retention.pruneEvents() },
      { name: "held deliveries", pattern: "0 5-59/10 * * * *", run: () => retention.expireHeld() },
      { name: "old responses", pattern: "0 2-59/10 * * * *", run: () => retention.forgetResponses() },
      { name: "counters", pattern: "* * * * * *", run: () => saveCounters(store) },
      { name: "old counters", pattern: "0 12 * * * *", run: () => retention.pruneCounters() },
      { name: "backup", pattern: "15 * * * * *", run: () => backups.pass() },
      { name: "old audit entries", pattern: "0 7 * * * *", run: () => retention.pruneAudit() },
      { name: "old keys", pattern: "0 17 * * * *", run: () => retention.pruneKeys() },
      { name: "old jobs", pattern: "0 22 * * * *", run: () => retention.pruneJobs() },
    ],
    log,
  );
  metrics.loopDelay.start();
  log.info({ url: listener.url, socket: socket?.url ?? null, version }, "listening");

  let stopped: Promise<void> | null = null;
  const stop = async () => {
    phase = "draining";
    log.info({}, "draining");
    running.stop();
    metrics.loopDelay.stop();
    ending.abort();
    feed.end();
    await dispatcher.stop();
    // What failed until now is told after the next start.
    await alerts.run();
    const listeners = socket === null ? [listener] : [listener, socket];
    await closeAll(listeners, CLOSE_DEADLINE_MS, () => {
      phase = "stopped";
      log.info({}, "no longer listening");
    });
    await store.close();
    log.info({}, "stopped");
  };
  return {
    url: listener.url,
    socket: socket?.url ?? null,
    created,
    adminKeyFile: adminKeyFile ?? null,
    reload({ config: next, changed, needsRestart }) {
      ({ retention: rules, backup: backupRules } = next);
      useEgress(next);
      const tls = next.server.tls && { certificate: renewed(listener, next.server.tls, { log, now: clock.now() }) };
      log.info({ changed, needs_restart: needsRestart, ...tls }, "SIGHUP: the configuration was read again");
      const keep = (what: string) => (error: unknown) => log.error({ err: error }, `${what} stay as they were`);
      catalogue.change(next).catch(keep("the event types"));
      alerts.configure(next, urlPolicy).catch(keep("alerts"));
    },
    idle: () => dispatcher.idle(),
    tick: async () => {
      dispatcher.tick();
      await endOverlaps();
      await damagedEndpoints.run();
      await alerts.run();
      await jobs.run();
    },
    stop: () => (stopped ??= stop()),
    abort: () => dispatcher.abort(),
    failed: fault.promise,
  };
}

async function openOptionalSocket(config: Config, handler: NodeHandler, web: ListenerParts): Promise<Listener | null> {
  const { socket: path, socketMode: mode, socketGroup: group } = config.server;
  const opened =
    path === ""
      ? { refused: "every path for it would be too long" }
      : await openSocket(handler, { path, mode, group, ...web });
  if (!("refused" in opened)) return opened;
  web.log.warn({ path }, `there is no unix socket (${opened.refused}): CLI and TUI need --url`);
  return null;
}

const STARTED_PAUSED = { reason: "started with --paused", by: "serve --paused" };

/** How long requests that are under way may take when the daemon stops listening. */
const CLOSE_DEADLINE_MS = 2000;

type OpenSending = (onEnded: (batch: readonly Ended[]) => void) => Sending;
type SendingNeeds = Pick<DaemonParts, "log" | "clock"> & Partial<Pick<DaemonParts, "network" | "startSender">>;

async function sendingFor(config: Config, { clock, log, network, startSender }: SendingNeeds): Promise<OpenSending> {
  const { threads, maxInFlight, endpointMaxInFlight } = config.delivery;
  const settings: SenderSettings = {
    ...egressSettings(config, config.server.listen.port),
    maxInFlight,
    senders: Math.max(1, threads),
    endpointMaxInFlight,
    signature: { ...config.signature, version },
  };
  const openFiles = openFilesLimit();
  const { inFlight } = roomWithin(openFiles);
  if (inFlight < maxInFlight) {
    const fields = { open_files: openFiles, max_in_flight: maxInFlight };
    log.warn(fields, `at most ${inFlight} attempts are made at once: this process may open no more files`);
  }
  if (threads === 0) {
    // Only here does the main thread load the HTTP client.
    const { openSender } = await import("./delivery/send/open-sender.ts");
    return (onEnded) => openSender(settings, clock, { onEnded: (ended) => onEnded([ended]) }, network);
  }
  const start = startSender ?? ((data: SenderThreadData) => startThread("sender", data));
  return (onEnded) =>
    new SenderPool({ threads, start, settings, log, onEnded, now: clock.now, nextTurn: clock.nextTurn });
}
