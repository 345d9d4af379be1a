/**
 * The egress guard: the only code that opens a socket to a receiver. Names are looked up once, every address is vetted,
 * and only vetted addresses are dialled. That includes literal addresses, for which Node calls no `lookup`.
 */
import { isIP, type OnReadOpts, SocketAddress, type Socket } from "node:net";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";
import type { Clock } from "../../clock.ts";
import type { AddressFault, Call } from "../../domain/network/address.ts";
import { portOf } from "../../domain/network/url.ts";
import { DialRace, type Dial, type Dialled } from "./dial.ts";
import { Egress, type EgressSettings, type TlsIdentity } from "./egress.ts";
import { Fault, faultOf } from "./fault.ts";
import { unawaited } from "../../domain/unawaited.ts";

/** An endpoint's host and port, derived once from its URL. */
export class Destination {
  /** Formatted for the `host` header. */
  readonly host: string;
  /** Has no brackets, and no dot at the end of a fully qualified name. */
  readonly hostname: string;
  readonly port: number;
  readonly secure: boolean;
  /** The endpoint's tenant, because some networks are open to one tenant only. */
  readonly tenant: string;
  /**
   * The last TLS session, which makes the next handshake with this endpoint shorter. Never shared between endpoints.
   */
  session: Buffer | undefined;
  /** The identity and the authorities of this endpoint alone. Null for what all share. */
  readonly #tls: TlsIdentity | null;
  /** Made for the first connection. */
  #secureContext: SecureContext | null = null;

  constructor(url: URL, tenant: string, tls: TlsIdentity | null = null) {
    this.#tls = tls;
    this.host = url.host;
    this.hostname = url.hostname.replace(/^\[|\]$|\.$/g, "");
    this.secure = url.protocol === "https:";
    this.port = portOf(url);
    this.tenant = tenant;
  }

  get showsCertificate(): boolean {
    return this.#tls !== null && this.#tls.identity !== null;
  }

  /** Throws if the endpoint's own certificate, key or authorities cannot be used. */
  secureContextOf(egress: Egress): SecureContext {
    if (this.#tls === null) return egress.secureContext;
    return (this.#secureContext ??= egress.contextOf(this.#tls));
  }
}

const REFUSALS: Readonly<Record<AddressFault, string>> = {
  address_not_public: "the host's address is not a public one",
  address_metadata: "the host's address belongs to a cloud metadata service",
  address_denied: "the host's address is on the operator's deny list",
  address_self: "the host's address is one of this machine's own",
};

/** Opens one connection: look up, vet, dial, check, secure. Ends once, with a socket or with a fault. */
export class Opening {
  /** Monotonic milliseconds at which each step was done. */
  resolvedAt: number | null = null;
  connectedAt: number | null = null;
  securedAt: number | null = null;
  /** The address that accepted. Until one does, the last one that was dialled. */
  remoteAddress: string | null = null;
  readonly #called: string[] = [];
  readonly #egress: Egress;
  readonly #destination: Destination;
  readonly #onEnd: (result: Socket | Fault) => void;
  readonly #onread: OnReadOpts | undefined;
  #hangUp: (() => void) | null = null;
  #ended = false;

  /** @param onread may receive what the socket reads, instead of its `data` event */
  constructor(egress: Egress, destination: Destination, onEnd: (result: Socket | Fault) => void, onread?: OnReadOpts) {
    this.#egress = egress;
    this.#destination = destination;
    this.#onEnd = onEnd;
    // With TLS, data is read from the TLS socket, not from this one.
    this.#onread = destination.secure ? undefined : onread;
  }

  start(): void {
    const { hostname } = this.#destination;
    if (isIP(hostname) === 0) unawaited(this.#lookUp(hostname));
    else this.#egress.opening.do(() => this.#dial([hostname]));
  }

  /** Describes what it is still waiting for, for an error message. */
  get waitingFor(): string {
    if (this.#ended) return `an answer from ${this.remoteAddress}`;
    if (this.connectedAt !== null) return `a TLS handshake with ${this.remoteAddress}`;
    return this.#called.length === 0 ? "an address" : `a connection to ${this.#called.join(" or ")}`;
  }

  cancel(fault: Fault): void {
    this.#end(fault);
  }

  async #lookUp(hostname: string): Promise<void> {
    const ips = await this.#egress.resolve(hostname).catch((error: Error) => faultOf(error));
    if (ips instanceof Fault) {
      this.#end(ips);
      return;
    }
    this.resolvedAt = this.#egress.clock.monotonic();
    this.#egress.opening.do(() => this.#dial(ips));
  }

  #dial(ips: readonly string[]): void {
    if (this.#ended) return;
    for (const ip of ips) {
      // One bad address refuses them all: if a name points inside, its other addresses cannot be trusted either.
      if (this.#refuses(this.#egress.policy.check(this.#callTo(ip)))) return;
    }
    const { clock } = this.#egress;
    const dial: Dial = (ip, port) => {
      this.#called.push(ip);
      this.remoteAddress = ip;
      return this.#egress.dial(ip, port, this.#onread);
    };
    const race = new DialRace(dial, clock, ips, this.#destination.port, (result) => {
      if (result instanceof Fault) this.#end(result);
      else this.#check(result);
    });
    this.#hangUp = () => race.cancel();
    race.start();
  }

  #callTo(ip: string): Call {
    const { port, tenant } = this.#destination;
    return { ip, port, tenant };
  }

  #refuses(fault: AddressFault | null): boolean {
    if (fault !== null) this.#end(new Fault(fault, REFUSALS[fault]));
    return fault !== null;
  }

  /** Checks, before the first byte, that the other side is the address that was vetted, and not this host. */
  #check({ socket, ip }: Dialled): void {
    this.#hangUp = () => socket.destroy();
    if (canonical(socket.remoteAddress) !== canonical(ip)) {
      this.#end(new Fault("address_not_public", "the connection did not lead to the address that was checked"));
      return;
    }
    if (this.#refuses(this.#egress.policy.checkEnds(this.#callTo(ip), socket.localAddress ?? ""))) return;
    this.connectedAt = this.#egress.clock.monotonic();
    this.remoteAddress = ip;
    if (this.#destination.secure) this.#secure(socket);
    else this.#end(socket);
  }

  #secure(raw: Socket): void {
    const { hostname, session } = this.#destination;
    let secureContext: SecureContext;
    try {
      secureContext = this.#destination.secureContextOf(this.#egress);
    } catch {
      this.#end(
        new Fault("tls_error", "the endpoint's own certificate, key or authorities cannot be used (OWN_TLS)", "none"),
      );
      return;
    }
    const socket = connectTls({
      socket: raw,
      host: hostname,
      // Send no server name for a literal address (RFC 6066, section 3).
      ...(isIP(hostname) === 0 && { servername: hostname }),
      ...(session !== undefined && { session }),
      secureContext,
      // Set explicitly, because otherwise NODE_TLS_REJECT_UNAUTHORIZED could turn it off.
      rejectUnauthorized: true,
      ALPNProtocols: ["http/1.1"],
    });
    this.#hangUp = () => socket.destroy();
    socket.on("session", (next) => {
      this.#destination.session = next;
    });
    socket.once("secureConnect", () => {
      this.securedAt = this.#egress.clock.monotonic();
      this.#end(socket);
    });
    socket.on("error", (error) => this.#end(handshakeFault(error)));
    socket.once("close", () => this.#end(new Fault("connection_closed", CLOSED_IN_HANDSHAKE)));
  }

  #end(result: Socket | Fault): void {
    if (this.#ended) return;
    this.#ended = true;
    if (result instanceof Fault) this.#hangUp?.();
    this.#hangUp = null;
    this.#onEnd(result);
  }
}

const CLOSED_IN_HANDSHAKE = "the receiver closed the connection during the TLS handshake";

function handshakeFault(error: Error): Fault {
  const fault = faultOf(error);
  return fault.error === "connection_closed" ? new Fault("connection_closed", CLOSED_IN_HANDSHAKE) : fault;
}

/** Returns one spelling of an address, because a URL and the kernel write some IPv6 addresses differently. */
function canonical(ip: string | undefined): string | undefined {
  const family = ip === undefined ? 0 : isIP(ip);
  return family === 6 ? new SocketAddress({ address: ip!, family: "ipv6" }).address : ip;
}

export interface Probed {
  readonly address: string;
  readonly durationMs: number;
  /** The time at which the receiver's certificate expires, in epoch milliseconds. Null without TLS. */
  readonly certificateUntil: number | null;
}

/** A fault's message is a sentence. */
export type Probe = (url: URL, tenant: string, ca?: string | null) => Promise<Probed | Fault>;

/** Opens a connection to a receiver exactly as a delivery does, but closes it where the request would be written. */
export function createProbe(settings: EgressSettings, clock: Clock): Probe {
  const egress = new Egress(settings, clock);
  return (url, tenant, ca = null) =>
    probe(egress, new Destination(url, tenant, ca === null ? null : { ca, identity: null }), settings.timeoutMs);
}

function probe(egress: Egress, destination: Destination, timeoutMs: number): Promise<Probed | Fault> {
  const began = egress.clock.monotonic();
  return new Promise((resolve) => {
    const opening: Opening = new Opening(egress, destination, (result) => {
      cancelTimer();
      if (result instanceof Fault) return resolve(result);
      const until = destination.secure ? Date.parse((result as TLSSocket).getPeerCertificate().valid_to) : null;
      result.destroy();
      resolve({
        address: opening.remoteAddress!,
        durationMs: egress.clock.monotonic() - began,
        certificateUntil: until,
      });
    });
    const late = () => opening.cancel(new Fault("timeout", `waited ${timeoutMs} ms for ${opening.waitingFor}`));
    const cancelTimer = egress.clock.after(timeoutMs, late);
    opening.start();
  });
}
