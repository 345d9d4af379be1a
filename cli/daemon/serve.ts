import { departures, exposures, loadConfig, rereadConfig, type Config } from "../../src/config.ts";
import { mistakesOf } from "../../src/config/mistake.ts";
import type { ConfigInputs } from "../../src/config/inputs.ts";
import type { SettingName } from "../../src/config/schema.ts";
import type { Daemon } from "../../src/daemon.ts";
import type { LevelledLog } from "../../src/log.ts";
import { type ArgsOf, command, CONFIG } from "../command.ts";
import { banner, nextSteps, WITHOUT_KEY } from "./banner.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";

type StartDaemon = (typeof import("../../src/daemon.ts"))["startDaemon"];
type Signal = "SIGINT" | "SIGTERM";

const SETTING_FLAGS: readonly (readonly [keyof Args, SettingName])[] = [
  ["listen", "server.listen"],
  ["data-dir", "data.dir"],
  ["socket", "server.socket"],
  ["log-level", "log.level"],
  ["log-format", "log.format"],
];
/** Under npm, Ctrl-C arrives twice: once from the terminal and once from npm, which passes it on. */
const ECHO_MS = 100;
/** Long enough for an attempt's ten seconds and for recording its outcome. */
const DRAIN_MS = 15_000;
/** Time to stop after the second signal. */
const ABORT_MS = 1000;

const AS_ROOT =
  "running as root, which webhookd does not need: run it as its own user, like the unit of `webhookd config init --systemd`";

/** Loads the daemon's modules only here: no other command needs them. */
async function loadDaemon(): Promise<StartDaemon> {
  return (await import("../../src/daemon.ts")).startDaemon;
}

const ARGS = {
  listen: { type: "string", valueHint: "ADDRESS:PORT", description: "Address of the API [127.0.0.1:8420]" },
  "data-dir": { type: "string", valueHint: "DIR", description: "Directory for all data" },
  socket: { type: "string", valueHint: "PATH", description: "Path of the unix socket" },
  config: CONFIG,
  dev: { type: "boolean", description: "Development mode: endpoints may use plain http on this machine, on any port" },
  create: {
    type: "boolean",
    default: true,
    description: "Create the store if there is none",
    negativeDescription: "Refuse to start without a store",
  },
  migrate: {
    type: "boolean",
    default: true,
    description: "Migrate a store from an older version",
    negativeDescription: "Refuse a store from an older version",
  },
  paused: { type: "boolean", description: "Start with sending paused, until `webhookd resume`" },
  "log-level": {
    type: "string",
    valueHint: "LEVEL",
    description: "Lowest level to log: debug, info, warn or error",
  },
  "log-format": { type: "string", valueHint: "FORMAT", description: "auto, json or pretty" },
} as const;
type Args = ArgsOf<typeof ARGS>;

export const serve = command({
  args: ARGS,
  examples: [
    "webhookd serve",
    "webhookd serve --dev",
    "webhookd serve --config /etc/webhookd/webhookd.toml --no-create",
  ],
  run: (args, io) => runServe(args, io),
});

export async function runServe(args: Args, io: Io, load: () => Promise<StartDaemon> = loadDaemon): Promise<number> {
  const inputs = () =>
    io.configInputs({
      config: args.config,
      dev: args.dev,
      create: args.create,
      migrate: args.migrate,
      paused: args.paused,
      settings: SETTING_FLAGS.flatMap(([flag, name]) => {
        const text = args[flag];
        return typeof text === "string" ? [{ name, flag: `--${flag}`, text }] : [];
      }),
    });
  const listenFd = io.inheritedSocket();
  const config = loadConfig(inputs());
  const signals = watchSignals(io, config.data.standby);
  try {
    const { createLog } = await import("../../src/log.ts");
    const format = config.log.format === "auto" ? (io.stdout.isTTY ? "pretty" : "json") : config.log.format;
    const log = createLog({
      format,
      level: config.log.level,
      write: (line) => io.stdout.write(line, { mayBeLost: true }),
    });
    const settings = new Rereader(config, inputs, log);
    let onHangup = () =>
      log.warn(
        {},
        "SIGHUP: the daemon is still starting, so the configuration was not read again; send the signal again later",
      );
    // Keep one listener for good: a signal that arrives while the listener is being replaced is lost.
    io.onHangup(() => onHangup());
    for (const sentence of [...departures(config), ...exposures(config)]) log.warn({}, sentence);
    if (inputs().root) log.warn({}, AS_ROOT);
    const startDaemon = await load();
    let daemon = await mending(() => startDaemon(config, { log, listenFd }));
    signals.running();
    onHangup = () => settings.hangUp(daemon);
    if (io.stdout.isTTY && format === "pretty") io.stdout.write(banner(config, daemon, args, inputs()));
    else if (daemon.created) {
      log.info({ file: daemon.adminKeyFile }, "this file contains the first API key, an admin key");
      log.warn({ file: config.data.secretKeyFile }, `copy this file off the host: ${WITHOUT_KEY}`);
      log.info({ next: nextSteps(config, daemon, args, inputs()) }, "next steps");
    }
    for (;;) {
      const end = await untilItEnds(daemon, signals, io);
      if (typeof end === "number") return end;
      // The socket from systemd was closed with its daemon, so only a new process can continue.
      if (listenFd !== null || !(await stopsInTime(daemon, io))) throw end;
      log.error({ err: end }, "restarting within this process to repair the database");
      const again = asBefore(settings.config, daemon);
      daemon = await mending(() => startDaemon(again, { log, listenFd }));
    }
  } finally {
    signals.end();
  }
}

/** Reads the configuration again on SIGHUP. A configuration with mistakes changes nothing. */
class Rereader {
  /** The configuration as it was read last. */
  config: Config;
  readonly #inputs: () => ConfigInputs;
  readonly #log: LevelledLog;
  #last: Promise<void> = Promise.resolve();

  constructor(config: Config, inputs: () => ConfigInputs, log: LevelledLog) {
    this.config = config;
    this.#inputs = inputs;
    this.#log = log;
  }

  /** Reloads run one after another, because each compares with the result of the one before. */
  hangUp(daemon: Daemon): void {
    this.#last = this.#last.then(() => this.#reload(daemon));
  }

  async #reload(daemon: Daemon): Promise<void> {
    const log = this.#log;
    const before = this.config.log.level;
    try {
      const reread = rereadConfig(this.config, this.#inputs());
      const level = reread.config.log.level;
      // Log the line about the change if either level shows it.
      if (!log.isLevelEnabled("info")) log.level = level;
      await daemon.reload(reread);
      log.level = level;
      this.config = reread.config;
      if (reread.changed.includes("egress.allow_http"))
        for (const sentence of departures(this.config)) log.warn({}, sentence);
      for (const sentence of exposures(this.config)) log.warn({}, sentence);
    } catch (error) {
      log.level = before;
      this.#sayUnchanged(error);
    }
  }

  #sayUnchanged(error: unknown): void {
    const found = mistakesOf(error);
    if (found === null)
      return this.#log.error({ err: error }, "SIGHUP: nothing was changed; send the signal again later");
    const mistakes = found.map(({ where, what, todo = "" }) => `${where}: ${what} ${todo}`.trimEnd());
    this.#log.error({ mistakes }, "SIGHUP: nothing was changed, because the configuration has mistakes");
  }
}

/** Starts again if the first start finds a damaged page: the second start repairs the database, or refuses it. */
async function mending(start: () => Promise<Daemon>): Promise<Daemon> {
  try {
    return await start();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return start();
  }
}

function isDamage(error: unknown): error is Error {
  return error instanceof Error && error.name === "StoreDamaged";
}

/** Keeps the port that the daemon was given. The next daemon starts paused only if the store says so. */
function asBefore(config: Config, { url }: Daemon): Config {
  const { server } = config;
  return {
    ...config,
    paused: false,
    server: { ...server, listen: { ...server.listen, port: Number(new URL(url).port) } },
  };
}

/**
 * Gives attempts in flight time to end, because the repaired database will keep their outcomes. Returns false if the
 * daemon does not stop in time.
 */
async function stopsInTime(daemon: Daemon, io: Io): Promise<boolean> {
  const stopped = daemon.stop().then(
    () => true,
    () => false,
  );
  return Promise.race([stopped, io.sleep(DRAIN_MS).then(() => false)]);
}

/**
 * The first signal stops, the second aborts, the third ends the process at once. Resolves to an exit code, or to an
 * error that a restart can repair.
 */
async function untilItEnds(daemon: Daemon, signals: Signals, io: Io): Promise<number | Error> {
  const first = await Promise.race([signals.first, daemon.failed]);
  if (first instanceof Error) {
    if (isDamage(first)) return first;
    daemon.abort();
    await Promise.race([daemon.stop().catch(() => {}), io.sleep(ABORT_MS)]);
    throw fatal(first);
  }
  let code: number = EXIT.ok;
  const stopped = daemon.stop().then(() => code);
  const aborted = signals.second.then(async (signal) => {
    code = codeOf(signal);
    daemon.abort();
    await io.sleep(ABORT_MS);
    return code;
  });
  const failed = daemon.failed.then((error) => Promise.reject(fatal(error)));
  return Promise.race([stopped, aborted, failed]);
}

interface Signals {
  readonly first: Promise<Signal>;
  readonly second: Promise<Signal>;
  /** Call this once the daemon runs: from then on the second signal waits for the daemon's abort. */
  running(): void;
  end(): void;
}

/** A standby may wait for months, and has nothing to finish when it is stopped. */
function watchSignals(io: Io, isStandby: boolean): Signals {
  const first = Promise.withResolvers<Signal>();
  const second = Promise.withResolvers<Signal>();
  let count = 0;
  let lastInterrupt = Number.NEGATIVE_INFINITY;
  let isRunning = false;
  const end = io.onSignal((signal) => {
    const now = io.monotonic();
    if (signal === "SIGINT" && now - lastInterrupt < ECHO_MS) return;
    if (signal === "SIGINT") lastInterrupt = now;
    count += 1;
    if (count === 1 && (isRunning || !isStandby)) first.resolve(signal);
    else if (count === 2 && isRunning) second.resolve(signal);
    else io.exit(codeOf(signal));
  });
  return { first: first.promise, second: second.promise, running: () => void (isRunning = true), end };
}

function codeOf(signal: Signal): number {
  return signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm;
}

/** Blames the disk for an error that ends a running daemon, unless the error says otherwise or is clearly a bug. */
function fatal(error: Error): Error {
  const isOurs = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  if ("exitCode" in error || isOurs) return error;
  return new Failure(
    "storage_failed",
    `the daemon cannot continue: ${error.message}`,
    "No acknowledged event is lost. Check the disk, then start the daemon again.",
  );
}
