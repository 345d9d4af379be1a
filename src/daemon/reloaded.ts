/**
 * Keeps the parts of the configuration that a SIGHUP can change while the daemon runs, and the policies for endpoints'
 * URLs that follow from them.
 */
import { alertChecks } from "../alerts/endpoint.ts";
import { usableTypes } from "../api/event-types/catalogue.ts";
import { readCertificate } from "../api/server/certificate.ts";
import { systemClock, type Clock } from "../clock.ts";
import { departures, type Config, type readConfig, addressRules, runningSettings, urlPolicies } from "../config.ts";
import { printAddress } from "../config/kinds.ts";
import { mistakesOf, type Mistake } from "../config/mistake.ts";
import { nameOf, SETTINGS, settingsTexts } from "../config/schema.ts";
import { addressPolicies } from "../delivery/http/egress.ts";
import { ALERT_TENANT } from "../domain/alert.ts";
import type { AddressRules } from "../domain/network/address.ts";
import type { TenantShare } from "../domain/time/timetable.ts";
import type { UrlPolicy } from "../domain/network/url.ts";

export class Reloaded {
  readonly shares: Map<string, TenantShare>;
  #current: Config;
  /** The port that the API listens on. No endpoint may use it on this host. */
  #ownPort: number;
  readonly #policyOf: ReturnType<typeof addressPolicies>;
  #urlPolicy: (tenant: string) => UrlPolicy;

  constructor(config: Config, clock: Clock) {
    this.shares = new Map(config.tenants);
    this.#current = config;
    this.#ownPort = config.server.listen.port;
    this.#policyOf = addressPolicies(clock);
    this.#urlPolicy = this.policies(config);
  }

  get retention(): Config["retention"] {
    return this.#current.retention;
  }

  get backup(): Config["backup"] {
    return this.#current.backup;
  }

  readonly portal = () => {
    const { listen, tls } = this.#current.server;
    const host = listen.host === "0.0.0.0" || listen.host === "::" ? "localhost" : listen.host;
    const address = printAddress({ host, port: this.#ownPort });
    return { ...this.#current.portal, listening: `${tls === null ? "http" : "https"}://${address}` };
  };

  readonly urlPolicy = (tenant: string): UrlPolicy => this.#urlPolicy(tenant);

  /** The URL policies of a configuration that is not in use yet. */
  policies(config: Config): (tenant: string) => UrlPolicy {
    return urlPolicies(config, this.#ownPort, this.#policyOf);
  }

  readonly running = () => {
    const texts = Object.entries(settingsTexts(runningSettings(this.#current)));
    const settings = Object.fromEntries(texts.map(([name, text]) => [name, JSON.parse(text) as unknown]));
    return { settings, tenants: this.#current.tenants };
  };

  readonly departures = (): string[] => departures(this.#current);

  /** Returns the rules that senders must apply from now on. */
  use(config: Config, ownPort: number = this.#ownPort): AddressRules {
    this.#current = config;
    this.shares.clear();
    for (const [tenant, share] of config.tenants) this.shares.set(tenant, share);
    this.#ownPort = ownPort;
    this.#urlPolicy = this.policies(config);
    return addressRules(config, ownPort);
  }
}

/**
 * Returns what a start or a SIGHUP would refuse in the files and URLs that a configuration names. It leaves out what
 * only a store can tell, and what depends on a wrong value.
 */
export async function refusals({
  config,
  isSure,
}: Omit<ReturnType<typeof readConfig>, "mistakes">): Promise<Mistake[]> {
  const urlPolicy = new Reloaded(config, systemClock).urlPolicy(ALERT_TENANT);
  const { tls } = config.server;
  const sections = (...names: string[]) => SETTINGS.filter(({ section }) => names.includes(section)).map(nameOf);
  const checks = [
    { about: ["server.tls_cert", "server.tls_key"] as const, check: () => tls?.keyFile && readCertificate(tls) },
    { about: sections("events"), check: () => usableTypes(config) },
    ...alertChecks({ config, urlPolicy }).map((check) => ({ about: sections("alerts", "egress"), check })),
  ];
  const mistakes: Mistake[] = [];
  for (const { about, check } of checks) {
    if (!about.every(isSure)) continue;
    try {
      await check();
    } catch (error) {
      const found = mistakesOf(error);
      if (found === null) throw error;
      mistakes.push(...found);
    }
  }
  return mistakes;
}
