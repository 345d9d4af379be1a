import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { conflicts } from "./config/conflicts.ts";
import { ConfigError } from "./config/error.ts";
import { EGRESS_TENANTS } from "./config/egress-tenants.ts";
import { EVENT_TYPES } from "./config/event-types.ts";
import type { ConfigInputs } from "./config/inputs.ts";
import type { Address } from "./config/kinds.ts";
import { defaultDataDir, defaultSecretKeyFile, defaultSocket } from "./config/places.ts";
import { isLive, nameOf, SETTINGS, type SettingName, type Settings } from "./config/schema.ts";
import { loadSettings, type LoadedSettings } from "./config/settings.ts";
import { printDuration } from "./config/units.ts";
import type { TenantNetworks } from "./domain/address.ts";
import type { EventType } from "./domain/event-type.ts";
import { SPECIFIED_LADDER } from "./domain/ladder.ts";

export { isLoopback } from "./domain/address.ts";

/** Every setting, parsed: durations in milliseconds, sizes in bytes, paths absolute. */
export interface Config {
  readonly server: {
    readonly listen: Address;
    /** Empty when there is to be none, because every path for it is too long. */
    readonly socket: string;
    readonly socketMode: number;
    readonly socketGroup: string;
    /** Null: the API is plain HTTP. */
    readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
    readonly behindProxy: boolean;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly trustedProxies: readonly string[];
    readonly maxEventBytes: number;
    /** How long keys are known. */
    readonly idempotency: number;
    /** Requests a second of each key; 0: any number. */
    readonly rateLimit: number;
  };
  readonly data: {
    readonly dir: string;
    readonly secretKeyFile: string;
    readonly diskFloor: number;
    /** False with `--no-create`: a missing store is refused instead of made. */
    readonly create: boolean;
    /** False with `--no-migrate`: a store with an older schema is refused. */
    readonly migrate: boolean;
  };
  /** `mayMake`: whether the directory is our own. */
  readonly backup: {
    readonly every: number;
    readonly dir: string;
    readonly mayMake: boolean;
    readonly keep: number;
    /** Empty: `secret.key` is in no scheduled backup. */
    readonly sealWithFile: string;
  };
  readonly retry: { readonly delays: readonly number[]; readonly timeout: number; readonly maxRetryAfter: number };
  readonly delivery: {
    /** 0: sending shares the main thread. */
    readonly threads: number;
    readonly maxInFlight: number;
    readonly endpointMaxInFlight: number;
  };
  readonly events: { readonly validate: boolean };
  /** Those that are added to the built-in ones. */
  readonly eventTypes: readonly EventType[];
  readonly limits: {
    readonly inFlightBytes: number;
    readonly commitQueue: number;
    /** Deliveries; 0: any number. */
    readonly maxPendingPerTenant: number;
  };
  readonly egress: {
    readonly allowHttp: boolean;
    readonly allowCidrs: readonly string[];
    readonly denyCidrs: readonly string[];
    /** `[[egress.tenant]]` */
    readonly tenants: readonly TenantNetworks[];
    /** "any" stands for every port. */
    readonly ports: readonly number[] | "any";
    readonly allowIpHosts: boolean;
    readonly resolver: "c-ares" | "system";
    readonly caFile: string;
  };
  readonly signature: { readonly header: string; readonly standardWebhooks: boolean };
  readonly alerts: {
    /** Empty: no alerts. */
    readonly url: string;
    readonly secretFile: string;
  };
  readonly endpoints: {
    readonly maxPerTenant: number;
    readonly disableOnGone: boolean;
    /** Milliseconds; 0 for never. */
    readonly disableAfter: number;
  };
  /** Milliseconds; 0 keeps for ever. */
  readonly retention: {
    readonly delivered: number;
    readonly failed: number;
    readonly held: number;
    readonly responseBodies: number;
    readonly audit: number;
    readonly statistics: number;
  };
  readonly metrics: { readonly public: boolean };
  readonly log: { readonly format: "auto" | "json" | "pretty"; readonly level: string };
  readonly dev: boolean;
  /** With `--paused` the brake is on from the start, and stays on until somebody resumes. */
  readonly paused: boolean;
  /** All of it as the operator gave it, by the names that the operator knows. */
  readonly settings: Settings;
}

/** Throws a ConfigError that names every mistake. */
export function loadConfig(inputs: ConfigInputs): Config {
  const loaded = loadSettings(inputs);
  const config = build(loaded, inputs);
  const mistakes = [...conflicts(config, loaded, inputs)];
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** What a configuration that is read again changes in a daemon that runs. */
export interface Reread {
  /** What holds from now on: as it was, with the changes that need no restart. */
  readonly config: Config;
  readonly changed: readonly (SettingName | typeof EVENT_TYPES | typeof EGRESS_TENANTS)[];
  readonly needsRestart: readonly SettingName[];
}

/** Throws a ConfigError, as at a start, when the new one could not be used as a whole. */
export function rereadConfig(current: Config, inputs: ConfigInputs): Reread {
  const next = loadConfig(inputs);
  const changed: Reread["changed"][number][] = [];
  const needsRestart: SettingName[] = [];
  const taken: Partial<Record<SettingName, unknown>> = {};
  for (const setting of SETTINGS) {
    const name = nameOf(setting);
    if (isDeepStrictEqual(current.settings[name], next.settings[name])) continue;
    // The dashboard's own.
    if (setting.section === "ui") continue;
    // A listener speaks TLS or does not, for as long as it lives.
    const live = isLive(setting) && (!name.startsWith("server.tls") || isSameScheme(current, next));
    if (live) {
      changed.push(name);
      taken[name] = next.settings[name];
    } else needsRestart.push(name);
  }
  const settings = { ...current.settings, ...taken } as Settings;
  const { eventTypes } = next;
  const { tenants: egressTenants } = next.egress;
  if (!isDeepStrictEqual(current.eventTypes, eventTypes)) changed.push(EVENT_TYPES);
  if (!isDeepStrictEqual(current.egress.tenants, egressTenants)) changed.push(EGRESS_TENANTS);
  return { config: build({ settings, eventTypes, egressTenants }, inputs), changed, needsRestart };
}

function isSameScheme(one: Config, other: Config): boolean {
  return (one.server.tls === null) === (other.server.tls === null);
}

/** One sentence for each constant of the specification that this configuration changes. */
export function departures(config: Config): string[] {
  const sentences: string[] = [];
  const { delays, timeout, maxRetryAfter } = config.retry;
  if (ladder(delays) !== ladder(SPECIFIED_LADDER)) {
    sentences.push(`Retry delays are ${ladder(delays)}; specified are ${ladder(SPECIFIED_LADDER)}.`);
  }
  if (maxRetryAfter > 0) {
    sentences.push(
      `A Retry-After may put a retry off by up to ${printDuration(maxRetryAfter)}; specified is the ladder.`,
    );
  }
  if (timeout !== 10_000) sentences.push(`Receivers have ${printDuration(timeout)} to answer; specified are 10s.`);
  if (config.signature.header.toLowerCase() !== "x-service-signature") {
    sentences.push(`The signature header is ${config.signature.header}; specified is X-Service-Signature.`);
  }
  if (config.egress.allowHttp) sentences.push("Endpoints may be plain http; specified is https only.");
  return sentences;
}

function ladder(delays: readonly number[]): string {
  return delays.map(printDuration).join(", ") || "none";
}

function build(
  { settings, eventTypes, egressTenants }: Pick<LoadedSettings, "settings" | "eventTypes" | "egressTenants">,
  inputs: ConfigInputs,
): Config {
  const dir = settings["data.dir"] || defaultDataDir(inputs);
  const dev = inputs.flags.dev ?? false;
  return {
    server: {
      listen: settings["server.listen"],
      socket: settings["server.socket"] || defaultSocket(dir, inputs),
      socketMode: settings["server.socket_mode"],
      socketGroup: settings["server.socket_group"],
      tls: tlsFiles(settings),
      behindProxy: settings["server.behind_proxy"],
      allowedHosts: settings["server.allowed_hosts"],
      allowedOrigins: settings["server.allowed_origins"],
      trustedProxies: settings["server.trusted_proxies"],
      maxEventBytes: settings["server.max_event_bytes"],
      idempotency: settings["server.idempotency"],
      rateLimit: settings["server.rate_limit"],
    },
    data: {
      dir,
      secretKeyFile: settings["data.secret_key_file"] || defaultSecretKeyFile(dir, inputs),
      diskFloor: settings["data.disk_floor"],
      create: inputs.flags.create ?? true,
      migrate: inputs.flags.migrate ?? true,
    },
    events: { validate: settings["events.validate"] },
    eventTypes,
    limits: {
      inFlightBytes: settings["limits.in_flight_bytes"],
      commitQueue: settings["limits.commit_queue"],
      maxPendingPerTenant: settings["limits.max_pending_per_tenant"],
    },
    backup: {
      every: settings["backup.every"],
      dir: settings["backup.dir"] || join(dir, "backups"),
      mayMake: settings["backup.dir"] === "",
      keep: settings["backup.keep"],
      sealWithFile: settings["backup.seal_with_file"],
    },
    retry: {
      delays: settings["retry.delays"],
      timeout: settings["retry.timeout"],
      maxRetryAfter: settings["retry.max_retry_after"],
    },
    delivery: {
      threads: settings["delivery.threads"],
      maxInFlight: settings["delivery.max_in_flight"],
      endpointMaxInFlight: settings["delivery.endpoint_max_in_flight"],
    },
    egress: {
      allowHttp: dev || settings["egress.allow_http"],
      allowCidrs: settings["egress.allow_cidrs"],
      denyCidrs: settings["egress.deny_cidrs"],
      tenants: egressTenants,
      ports: dev ? "any" : settings["egress.ports"],
      allowIpHosts: settings["egress.allow_ip_hosts"],
      resolver: settings["egress.resolver"],
      caFile: settings["egress.ca_file"],
    },
    signature: {
      header: settings["signature.header"],
      standardWebhooks: settings["signature.standard_webhooks"],
    },
    endpoints: {
      maxPerTenant: settings["endpoints.max_per_tenant"],
      disableOnGone: settings["endpoints.disable_on_gone"],
      disableAfter: settings["endpoints.disable_after"],
    },
    metrics: { public: settings["metrics.public"] },
    retention: {
      delivered: settings["retention.delivered"],
      failed: settings["retention.failed"],
      held: settings["retention.held"],
      responseBodies: settings["retention.response_bodies"],
      audit: settings["retention.audit"],
      statistics: settings["retention.statistics"],
    },
    alerts: { url: settings["alerts.url"], secretFile: settings["alerts.secret_file"] },
    log: { format: settings["log.format"], level: settings["log.level"] },
    dev,
    paused: inputs.flags.paused ?? false,
    settings,
  };
}

function tlsFiles(settings: Settings): Config["server"]["tls"] {
  const [certFile, keyFile] = [settings["server.tls_cert"], settings["server.tls_key"]];
  return certFile === "" ? null : { certFile, keyFile };
}
