/** Connects to the first of several vetted addresses that accepts. */
import { connect, isIPv6, type OnReadOpts, type Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import { Fault, faultOf } from "./fault.ts";

/**
 * Starts to connect to an address (never a name) and returns at once. The bytes that the socket reads may go to
 * `onread`.
 */
export type Dial = (ip: string, port: number, onread?: OnReadOpts) => Socket;

export const dialTcp: Dial = (ip, port, onread) =>
  connect({ host: ip, port, noDelay: true, autoSelectFamily: false, ...(onread !== undefined && { onread }) });

export interface Dialled {
  readonly socket: Socket;
  readonly ip: string;
}

/**
 * The time that an address may stay silent before the next one is tried in parallel (RFC 8305, Connection Attempt
 * Delay).
 */
const NEXT_AFTER_MS = 250;
/** A name with a thousand addresses must not make us dial a thousand hosts. */
const MAX_CALLS = 8;

/**
 * Dials one address after another, each 250 ms or an error after the one before. The first connection wins; the others
 * are dropped.
 */
export class DialRace {
  readonly #clock: Clock;
  readonly #dial: Dial;
  readonly #port: number;
  readonly #waiting: string[];
  readonly #calling = new Set<Socket>();
  readonly #onEnd: (result: Dialled | Fault) => void;
  #fault: Fault | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor(
    dial: Dial,
    clock: Clock,
    ips: readonly string[],
    port: number,
    onEnd: (result: Dialled | Fault) => void,
  ) {
    this.#dial = dial;
    this.#clock = clock;
    this.#port = port;
    this.#waiting = alternate(ips).slice(0, MAX_CALLS);
    this.#onEnd = onEnd;
  }

  start(): void {
    this.#callNext();
  }

  /** Drops all connections; nothing is reported after this. */
  cancel(): void {
    this.#cancelTimer?.();
    this.#waiting.length = 0;
    for (const socket of this.#calling) socket.destroy();
    this.#calling.clear();
  }

  #callNext(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const ip = this.#waiting.shift();
    if (ip === undefined) return;
    const socket = this.#dial(ip, this.#port);
    this.#calling.add(socket);
    socket.once("connect", () => this.#won(socket, ip));
    // Keep this listener for the socket's life: an error while the socket changes owner would end the process.
    socket.on("error", (error) => this.#lost(socket, error));
    if (this.#waiting.length > 0) this.#cancelTimer = this.#clock.after(NEXT_AFTER_MS, () => this.#callNext());
  }

  #won(socket: Socket, ip: string): void {
    if (!this.#calling.delete(socket)) return;
    this.cancel();
    this.#onEnd({ socket, ip });
  }

  #lost(socket: Socket, error: Error): void {
    if (!this.#calling.delete(socket)) return;
    this.#fault = worse(this.#fault, faultOf(error));
    if (this.#waiting.length > 0) this.#callNext();
    else if (this.#calling.size === 0) this.#onEnd(this.#fault);
  }
}

/**
 * Alternates, beginning with IPv4: hosts with half-working IPv6 are common, and each of their new connections would
 * wait 250 ms.
 */
function alternate(ips: readonly string[]): string[] {
  const v4 = ips.filter((ip) => !isIPv6(ip));
  const v6 = ips.filter((ip) => isIPv6(ip));
  const rows = Array.from({ length: Math.max(v4.length, v6.length) }, (_, i) => [v4[i], v6[i]]);
  return rows.flat().filter((ip) => ip !== undefined);
}

function worse(known: Fault | null, fault: Fault): Fault {
  return known === null || weight(fault) > weight(known) ? fault : known;
}

/** Ranks the faults to report: a response of the receiver first, then our own trouble, then a missing route. */
function weight(fault: Fault): number {
  if (fault.error === "unreachable") return 0;
  return fault.error === "interrupted" ? 1 : 2;
}
