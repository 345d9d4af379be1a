/** Checks that each endpoint can be reached: look-up, connection and TLS, by the path and rules of a real delivery. */
import type { Endpoint } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import type { Config } from "../../src/config.ts";
import type { Probe, Probed } from "../../src/delivery/http/egress-guard.ts";
import { lifetime } from "./certificate.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";

/** Probing more hosts than this would amount to a port scan. */
const MAX_HOSTS = 200;
const AT_ONCE = 8;
/** Most certificates are renewed by a program, thirty days ahead. */
const SOON_DAYS = 14;

interface Patient {
  readonly client: Client;
  readonly config: Config;
  /** The id of the only endpoint to check. */
  readonly only: string | undefined;
  readonly now: number;
}

export async function* endpointFindings({ client, config, only, now }: Patient): AsyncGenerator<Finding> {
  const { hosts, more } = await hostsOf(client, config, only);
  if (hosts.size === 0) return yield ok("endpoints", "none are enabled");
  const probe = await openProbe(config);
  const waiting = [...hosts];
  while (waiting.length > 0) {
    const findings = waiting.splice(0, AT_ONCE).map(([, endpoints]) => examine(probe, endpoints, now));
    yield* await Promise.all(findings);
  }
  if (more) yield warn("endpoints", `only ${MAX_HOSTS} hosts were checked`, "webhookd doctor --endpoint ep_…");
}

/**
 * Groups endpoints by host. A host is probed once, or once for each tenant that has its own networks, and for each set
 * of own authorities.
 */
async function hostsOf(client: Client, { egress }: Config, only: string | undefined) {
  const hosts = new Map<string, Endpoint[]>();
  const apart = new Set(egress.tenants.flatMap(({ names }) => names));
  const endpoints =
    only === undefined ? client.every("listEndpoints") : [await client.call("getEndpoint", { id: only })];
  for await (const endpoint of endpoints) {
    if (!endpoint.enabled && only === undefined) continue;
    const { origin } = new URL(endpoint.url);
    const tenant = apart.has(endpoint.tenant) ? ` ${endpoint.tenant}` : "";
    const place = `${origin}${tenant}${endpoint.ca ? ` ${endpoint.ca}` : ""}`;
    const known = hosts.get(place);
    if (known !== undefined) known.push(endpoint);
    else if (hosts.size === MAX_HOSTS) return { hosts, more: true };
    else hosts.set(place, [endpoint]);
  }
  return { hosts, more: false };
}

async function openProbe(config: Config): Promise<Probe> {
  const { createProbe } = await import("../../src/delivery/http/egress-guard.ts");
  const { egressSettings } = await import("../../src/config.ts");
  const { systemClock } = await import("../../src/clock.ts");
  return createProbe(egressSettings(config, config.server.listen.port), systemClock);
}

async function examine(probe: Probe, endpoints: Endpoint[], now: number): Promise<Finding> {
  const [first, ...others] = endpoints;
  const { origin } = new URL(first!.url);
  const subject = `${first!.id}${others.length > 0 ? ` and ${others.length} more` : ""}`;
  const result = await probe(new URL(origin), first!.tenant, first!.ca);
  if (result instanceof Error) return fail(subject, `${origin}: ${result.message}`, todoOf(result.error, first!.id));
  return reached(subject, origin, result, now);
}

function reached(subject: string, origin: string, { address, durationMs, certificateUntil }: Probed, now: number) {
  const what = `${origin} at ${address} in ${Math.round(durationMs)} ms`;
  if (certificateUntil === null) return ok(subject, `${what}, without TLS`);
  const finding = lifetime(subject, certificateUntil, now, SOON_DAYS);
  return { ...finding, what: `${what}; ${finding.what}`, ...(finding.todo && { todo: "tell the people who run it" }) };
}

function todoOf(error: string, id: string): string {
  if (error.startsWith("address_")) return "set [egress] allow_cidrs or [[egress.tenant]], if requests may go there";
  if (error === "dns_failure") return "check the name with dig, and this host's DNS";
  if (error === "tls_error")
    return "tell the people who run it, or name their certificate authority with [egress] ca_file";
  return `run webhookd endpoints show ${id}, and ask the people who run it`;
}
