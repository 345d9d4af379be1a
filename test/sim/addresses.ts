/**
 * The addresses of receivers' names, and the egress rules. Both change, and no address that the rules refuse may be
 * dialled.
 */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { Clock } from "../../src/clock.ts";
import { Destination, Opening } from "../../src/delivery/http/egress-guard.ts";
import { Egress } from "../../src/delivery/http/egress.ts";
import { Fault } from "../../src/delivery/http/fault.ts";
import type { SenderSettings } from "../../src/delivery/send/open-sender.ts";
import type { AddressRules } from "../../src/domain/network/address.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";

/** Addresses of this host, of private networks and of cloud services. No rule here opens them. */
const OWN = "9.9.9.9";
const REFUSED = [OWN, "127.0.0.1", "10.0.0.5", "192.168.1.1", "169.254.169.254", "::1", "fd00::5", "64:ff9b::a00:5"];
/** A public address that a rule may deny. */
const DENIABLE = "11.0.0.1";
/** A private address that a rule may open. */
const OPENABLE = "10.77.0.1";
const PUBLIC = ["1.1.1.1", "2600::1"];
const LOOK_UP_MS = 20;
/** The time that messages with new rules take to reach the senders. */
const TOLD_MS = 5;

const NO_RULES: AddressRules = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: false, ownPort: 0 };

export class Addresses {
  readonly #random: Random;
  readonly #monotonic: () => number;
  readonly #violations: string[];
  /** Addresses by name. Other names have public addresses. */
  readonly #zone = new Map<string, readonly string[]>();
  rules = NO_RULES;
  #before = NO_RULES;
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor(random: Random, monotonic: () => number, violations: string[]) {
    this.#random = random;
    this.#monotonic = monotonic;
    this.#violations = violations;
  }

  /** Gives a name other addresses, or sets other rules. */
  touch(process: Process, urls: readonly string[]): void {
    const random = this.#random;
    if (random.chance(0.5)) {
      const some = [...PUBLIC, DENIABLE, OPENABLE, ...(random.chance(0.5) ? [random.pick(REFUSED)] : [])];
      const ips = Array.from({ length: random.between(1, 3) }, () => random.pick(some));
      this.#zone.set(new URL(random.pick(urls)).hostname, ips);
    } else {
      const denyCidrs = random.chance(0.5) ? [`${DENIABLE}/24`] : [];
      const allowCidrs = random.chance(0.5) ? [`${OPENABLE}/24`] : [];
      this.#keepTo({ ...NO_RULES, denyCidrs, allowCidrs }, process);
    }
  }

  heal(process: Process | null): void {
    this.#zone.clear();
    this.#keepTo(NO_RULES, process);
  }

  /** Returns the real guard of one sender, on this network. */
  wayOut(settings: SenderSettings, clock: Clock): WayOut {
    const later = (run: () => void) => void clock.after(this.#random.between(0, LOOK_UP_MS), run);
    const egress = new Egress(settings, clock, {
      resolve: (hostname) => new Promise((resolve) => later(() => resolve(this.#zone.get(hostname) ?? PUBLIC))),
      dial: (ip) => {
        this.#check(ip);
        const socket = Object.assign(new EventEmitter(), { remoteAddress: ip, localAddress: OWN, destroy() {} });
        later(() => socket.emit("connect"));
        return socket as unknown as Socket;
      },
      ownAddresses: () => [OWN],
      secureContext: {} as SecureContext,
    });
    return {
      keepTo: (rules) => egress.keepTo(rules),
      open: (url, tenant) =>
        new Promise((resolve) => {
          // Handshakes are not simulated, so TLS is left out.
          const destination = new Destination(new URL(url.replace("https:", "http:")), tenant);
          new Opening(egress, destination, (end) => resolve(end instanceof Fault ? end : null)).start();
        }),
    };
  }

  #keepTo(rules: AddressRules, process: Process | null): void {
    [this.#before, this.rules, this.#changedAt] = [this.rules, rules, this.#monotonic()];
    process?.dispatcher.setEgress(rules);
  }

  /** V11: no address is dialled that the rules refuse. */
  #check(ip: string): void {
    const isNew = this.#monotonic() - this.#changedAt <= TOLD_MS;
    if (isOpen(ip, this.rules) || (isNew && isOpen(ip, this.#before))) return;
    this.#violations.push(`V11: ${ip} was dialled`);
  }
}

export interface WayOut {
  keepTo(rules: AddressRules): void;
  /** Resolves to null once there is a connection. */
  open(url: string, tenant: string): Promise<Fault | null>;
}

function isOpen(ip: string, { allowCidrs, denyCidrs }: AddressRules): boolean {
  if (ip === DENIABLE) return denyCidrs.length === 0;
  return ip === OPENABLE ? allowCidrs.length > 0 : PUBLIC.includes(ip);
}
