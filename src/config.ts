import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigError, type Mistake } from "./config/mistake.ts";
import { ALSO } from "./config/also.ts";
import { OUTBOX } from "./config/outboxes.ts";
import { EGRESS_TENANTS, EVENT_TYPES, TENANTS } from "./config/tables.ts";
import { defaultDataDir, defaultSecretKeyFile, defaultSocket, fitsSocket, type ConfigInputs } from "./config/inputs.ts";
import {
  DEFAULTS,
  isLive,
  nameOf,
  sectionsOf,
  SETTINGS,
  type Sections,
  type SettingName,
  type Settings,
} from "./config/schema.ts";
import { pairsOf } from "./config/kinds.ts";
import { readSettings, type LoadedSettings } from "./config/settings.ts";
import { printDuration } from "./config/units.ts";
import type { AddressPolicy, AddressRules, TenantNetworks } from "./domain/network/address.ts";
import { isLoopback, type UrlPolicy } from "./domain/network/url.ts";
import { headerNames, type FurtherSignature } from "./domain/endpoints/further-signature.ts";
import type { EventType } from "./domain/events/event-type.ts";
import type { OutboxSettings } from "./domain/outbox/outbox.ts";
import type { TenantShare } from "./domain/time/timetable.ts";
import { mayBeReplaced } from "./domain/utf8.ts";

export { isLoopback } from "./domain/network/url.ts";

/**
 * Every setting, parsed: durations in milliseconds, sizes in bytes, paths absolute. The fields come from the table of
 * settings. This lists only those that differ from it, or that are not settings.
 */
export interface Config extends Omit<Sections, "server" | "data" | "backup" | "egress" | "signature" | "telemetry"> {
  readonly server: Omit<Sections["server"], "socket" | "tlsCert" | "tlsKey"> & {
    /** "" for no socket, because every path for it is too long. */
    readonly socket: string;
    /** Null if the API is plain HTTP. */
    readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  };
  readonly data: Sections["data"] & {
    /** False with `--no-create`: a missing store is refused instead of created. */
    readonly create: boolean;
    /** False with `--no-migrate`: a store with an older schema is refused. */
    readonly migrate: boolean;
  };
  /** `[[signature.also]]` is in the file alone. */
  readonly signature: Sections["signature"] & { readonly also: readonly FurtherSignature[] };
  /** `mayMake` is true for the default directory, which we may create. */
  readonly backup: Sections["backup"] & { readonly mayMake: boolean };
  /** `tenants`: `[[egress.tenant]]` */
  readonly egress: Sections["egress"] & { readonly tenants: readonly TenantNetworks[] };
  readonly telemetry: Omit<Sections["telemetry"], "headers" | "resourceAttributes"> & {
    readonly headers: Readonly<Record<string, string>>;
    readonly resourceAttributes: Readonly<Record<string, string>>;
  };
  /** The types that the configuration adds to the built-in ones. */
  readonly eventTypes: readonly EventType[];
  /** `[tenants.NAME]` */
  readonly tenants: ReadonlyMap<string, TenantShare>;
  /** `[[outbox]]` */
  readonly outboxes: readonly OutboxSettings[];
  readonly dev: boolean;
  /** With `--paused`, sending is paused from the start until it is resumed. */
  readonly paused: boolean;
  /** All settings as the operator gave them, by the names that the operator knows. */
  readonly settings: Settings;
  /** The files with a secret that every user of this host can read. */
  readonly openSecrets: readonly string[];
  /** The file that was read; null if there was none. */
  readonly file: string | null;
}

/** Throws a ConfigError that names every mistake. `known` is the file that must be read again, if there is one. */
export function loadConfig(inputs: ConfigInputs, known: string | null = null): Config {
  const { config, mistakes } = readConfig(inputs, known);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** Returns the configuration together with all mistakes found in it. A setting with a wrong value has its default. */
export function readConfig(inputs: ConfigInputs, known: string | null = null) {
  const read = readSettings(inputs, known);
  const config = build(read, inputs);
  const combined = [...conflicts(config, read, inputs)].filter(({ about }) => about.every(read.isSure));
  const mistakes: Mistake[] = [
    ...read.mistakes,
    ...combined.map(({ where, what, why, todo }) => ({ where, what, why, todo })),
  ];
  return { config, mistakes, isSure: read.isSure };
}

/** The changes to a running daemon when the configuration is read again. */
export interface Reread {
  /** The configuration from now on: the current one with the changes that need no restart. */
  readonly config: Config;
  readonly changed: readonly (SettingName | typeof EVENT_TYPES | typeof EGRESS_TENANTS | typeof TENANTS)[];
  readonly needsRestart: readonly (SettingName | typeof OUTBOX | typeof ALSO)[];
}

/** Throws a ConfigError, as at a start, if the new configuration as a whole is not usable. */
export function rereadConfig(current: Config, inputs: ConfigInputs): Reread {
  const next = loadConfig(inputs, current.file);
  const changed: Reread["changed"][number][] = [];
  const needsRestart: Reread["needsRestart"][number][] = [];
  const taken: Partial<Record<SettingName, unknown>> = {};
  for (const setting of SETTINGS) {
    const name = nameOf(setting);
    if (isDeepStrictEqual(current.settings[name], next.settings[name])) continue;
    // Only the dashboard uses these.
    if (setting.section === "ui") continue;
    // A listener either speaks TLS or does not, for as long as it exists.
    const live = isLive(setting) && (!name.startsWith("server.tls") || isSameScheme(current, next));
    if (live) {
      changed.push(name);
      taken[name] = next.settings[name];
    } else needsRestart.push(name);
  }
  const settings = { ...current.settings, ...taken } as Settings;
  const { eventTypes, tenants, file, openSecrets } = next;
  const { also } = current.signature;
  const { tenants: egressTenants } = next.egress;
  if (!isDeepStrictEqual(current.eventTypes, eventTypes)) changed.push(EVENT_TYPES);
  if (!isDeepStrictEqual(current.egress.tenants, egressTenants)) changed.push(EGRESS_TENANTS);
  if (!isDeepStrictEqual(current.tenants, tenants)) changed.push(TENANTS);
  if (!isDeepStrictEqual(current.outboxes, next.outboxes)) needsRestart.push(OUTBOX);
  if (!isDeepStrictEqual(also, next.signature.also)) needsRestart.push(ALSO);
  const { outboxes } = current;
  return {
    config: build({ settings, eventTypes, egressTenants, tenants, outboxes, also, file, openSecrets }, inputs),
    changed,
    needsRestart,
  };
}

function isSameScheme(one: Config, other: Config): boolean {
  return (one.server.tls === null) === (other.server.tls === null);
}

/** The settings, with the default places filled in for empty ones. */
export function runningSettings({ settings, server, data, backup }: Config): Settings {
  return {
    ...settings,
    "server.socket": server.socket,
    "data.dir": data.dir,
    "data.secret_key_file": data.secretKeyFile,
    "backup.dir": backup.dir,
  };
}

/** Returns one sentence for each constant of the specification that this configuration overrides. */
export function departures(config: Config): string[] {
  const sentences: string[] = [];
  const { delays, timeout, maxRetryAfter } = config.retry;
  // The defaults in the schema are those of the specification.
  const specified = ladder(DEFAULTS["retry.delays"]);
  if (ladder(delays) !== specified) {
    sentences.push(`Retry delays are ${ladder(delays)}; the specification says ${specified}.`);
  }
  if (maxRetryAfter > 0) {
    sentences.push(
      `Retry-After may delay a retry by up to ${printDuration(maxRetryAfter)}; the specification keeps to the ladder.`,
    );
  }
  if (timeout !== 10_000)
    sentences.push(`Receivers have ${printDuration(timeout)} to answer; the specification says 10s.`);
  if (config.signature.header.toLowerCase() !== "x-service-signature") {
    sentences.push(`The signature header is ${config.signature.header}; the specification says X-Service-Signature.`);
  }
  if (config.egress.allowHttp) sentences.push("Endpoints may use plain http; the specification says https only.");
  return sentences;
}

/** Returns one sentence for each file with a secret that every user of this host can read. */
export function exposures({ openSecrets }: Pick<Config, "openSecrets">): string[] {
  return openSecrets.map((file) => `Every user of this host can read the secret in ${file}: chmod o-r ${file}`);
}

function ladder(delays: readonly number[]): string {
  return delays.map(printDuration).join(", ") || "none";
}

function build(
  { settings, eventTypes, egressTenants, tenants, outboxes, also, file, openSecrets }: Omit<LoadedSettings, "origins">,
  inputs: ConfigInputs,
): Config {
  const sections = sectionsOf(settings);
  const { server, data, backup, egress, telemetry } = sections;
  const { tlsCert, tlsKey, ...listening } = server;
  const dir = data.dir || defaultDataDir(inputs);
  const { dev = false, create = true, migrate = true, paused = false } = inputs.flags;
  return {
    ...sections,
    server: {
      ...listening,
      socket: server.socket || defaultSocket(dir, inputs),
      tls: tlsCert === "" ? null : { certFile: tlsCert, keyFile: tlsKey },
    },
    data: {
      ...data,
      dir,
      secretKeyFile: data.secretKeyFile || defaultSecretKeyFile(dir, inputs),
      create,
      migrate,
    },
    backup: { ...backup, dir: backup.dir || join(dir, "backups"), mayMake: backup.dir === "" },
    egress: {
      ...egress,
      allowHttp: dev || egress.allowHttp,
      ports: dev ? "any" : egress.ports,
      tenants: egressTenants,
    },
    signature: { ...sections.signature, also },
    telemetry: {
      ...telemetry,
      headers: pairsOf(telemetry.headers),
      resourceAttributes: pairsOf(telemetry.resourceAttributes),
    },
    eventTypes,
    tenants,
    outboxes,
    dev,
    paused,
    settings,
    openSecrets,
    file,
  };
}

/** The settings that decide where endpoints may be, whether for registrations, deliveries, alerts or probes. */
type Egress = Pick<Config, "egress" | "dev">;

/** `ownPort` is the port that the API listens on. */
export function addressRules({ egress, dev }: Egress, ownPort: number): AddressRules {
  const { allowCidrs, denyCidrs, tenants } = egress;
  return { allowCidrs, denyCidrs, tenants, allowLoopback: dev, ownPort };
}

/** The settings for connections to endpoints, which senders and probes are made from. */
export function egressSettings(given: Egress & Pick<Config, "retry">, ownPort: number) {
  const { resolver, caFile } = given.egress;
  return { addresses: addressRules(given, ownPort), resolver, caFile, timeoutMs: given.retry.timeout };
}

export function urlPolicies(
  given: Egress,
  ownPort: number,
  policyOf: (rules: AddressRules) => AddressPolicy,
): (tenant: string) => UrlPolicy {
  const { allowHttp, ports, allowIpHosts, allowHosts } = given.egress;
  const address = policyOf(addressRules(given, ownPort));
  return (tenant) => ({ allowHttp, ports, allowIpHosts, allowHosts, address, tenant, dev: given.dev });
}

const TLS_PAIR = ["server.tls_cert", "server.tls_key"] as const;

/** A mistake in a combination of values, and the settings that it is about. */
interface Conflict extends Mistake {
  readonly about: readonly SettingName[];
}

function* sharedHeader({ signature }: Config, { origins }: LoadedSettings): Generator<Conflict> {
  const own = signature.header.toLowerCase();
  const same = signature.also.find((one) => headerNames(one).includes(own));
  if (same === undefined) return;
  yield {
    about: ["signature.header"],
    where: origins.get("signature.header")?.() ?? "[signature] header",
    what: `${signature.header} is also the header of a [[${ALSO}]] with format = "${same.name}".`,
    todo: "Give one of them another header.",
  };
}

function* conflicts(config: Config, given: LoadedSettings, { platform }: ConfigInputs): Generator<Conflict> {
  const { settings, origins } = given;
  const { listen, tls, behindProxy, maxEventBytes } = config.server;
  const where = origins.get("server.listen")?.() ?? "[server] listen";
  if (!isLoopback(listen.host)) {
    if (config.dev) {
      yield {
        about: ["server.listen"],
        where,
        what: `--dev cannot be combined with the address ${listen.host}.`,
        why: "With --dev endpoints may be services on this machine, so anyone who reaches the API could make webhookd call them.",
        todo: "Drop --dev, or listen on 127.0.0.1.",
      };
    } else if (tls === null && !behindProxy) {
      yield {
        about: ["server.listen", "server.behind_proxy", ...TLS_PAIR],
        where,
        what: `${listen.host} can be reached from other machines, so keys and secrets would cross the network in the clear.`,
        todo: "Set [server] tls_cert and tls_key, or put a TLS proxy in front and set behind_proxy = true, or listen on 127.0.0.1.",
      };
    }
  }
  yield* sharedHeader(config, given);
  const half = TLS_PAIR.find((name) => settings[name] !== "");
  if (half !== undefined && TLS_PAIR.some((name) => settings[name] === "")) {
    yield {
      about: TLS_PAIR,
      where: origins.get(half)!(),
      what: "[server] tls_cert and tls_key belong together, but only one is set.",
      todo: "Set the other one as well.",
    };
  }
  const socket = settings["server.socket"];
  if (socket !== "" && !fitsSocket(socket, platform)) {
    yield {
      about: ["server.socket"],
      where: origins.get("server.socket")!(),
      what: `${socket} is too long for a socket path.`,
      todo: `Choose a shorter path, such as ${join("/run/webhookd", "webhookd.sock")}.`,
    };
  }
  yield* unreadableNames(config, given);
  yield* storeConflicts(config, given);
  if (config.limits.inFlightBytes < maxEventBytes) {
    yield {
      about: ["limits.in_flight_bytes", "server.max_event_bytes"],
      where: (origins.get("limits.in_flight_bytes") ?? origins.get("server.max_event_bytes")!)(),
      what: "[limits] in_flight_bytes is smaller than [server] max_event_bytes, so the largest events could never be accepted.",
      todo: "Raise the first or lower the second.",
    };
  }
}

/** Node has already replaced bytes of the name, so we would create and use another folder next to the real one. */
function* unreadableNames({ server, data, backup }: Config, { origins }: LoadedSettings): Generator<Conflict> {
  const paths = [
    ["data.dir", data.dir],
    ["data.secret_key_file", data.secretKeyFile],
    ["backup.dir", backup.dir],
    ["server.socket", server.socket],
  ] as const;
  const wrong = paths.find(([, path]) => mayBeReplaced(path));
  if (wrong === undefined) return;
  const [name, path] = wrong;
  yield {
    about: [name],
    where: origins.get(name)?.() ?? `[${name.replace(".", "] ")}`,
    what: `the name ${path} is not UTF-8.`,
    why: "webhookd would use another folder than the one that is meant.",
    todo: "Rename the folder, or name another one.",
  };
}

function* storeConflicts({ data, backup }: Config, { origins }: LoadedSettings): Generator<Conflict> {
  for (const key of ["nodes", "standby"] as const) {
    if (data.store !== "" || !data[key]) continue;
    yield {
      about: ["data.store"],
      where: origins.get(`data.${key}`)!(),
      what: `[data] ${key} is for a store in PostgreSQL, but [data] store names none.`,
      todo: `Set [data] store to postgres://…, or leave ${key} out.`,
    };
  }
  if (data.store !== "" && backup.every > 0) {
    yield {
      about: ["data.store"],
      where: origins.get("backup.every")!(),
      what: "[backup] every makes copies of a file, but [data] store names a PostgreSQL database.",
      todo: "Leave one of them out. PostgreSQL is backed up with its own tools: pg_basebackup, pg_dump.",
    };
  }
}
