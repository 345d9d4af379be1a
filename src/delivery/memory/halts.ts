/** Tracks the reasons why no attempt may start, or fewer than could. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { Halt, HaltReason } from "../../domain/deliveries/pause.ts";
import type { Now } from "./clock.ts";

/** The reasons why no attempt may start. Each begins and ends independently. Sending resumes once none is left. */
export class Halts {
  /**
   * True while deliveries that may have killed the process are sent alone. Nothing else is handed to the sender then.
   */
  onTrial = false;
  readonly #reasons = new Map<HaltReason, Halt>();

  has(reason: HaltReason): boolean {
    return this.#reasons.has(reason);
  }

  isOnly(reason: HaltReason): boolean {
    return this.#reasons.size === 1 && this.#reasons.has(reason);
  }

  get all(): readonly Halt[] {
    return [...this.#reasons.values()];
  }

  get stopping(): boolean {
    return this.has("stopping");
  }

  /** `now` is on the wall clock. */
  begin(reason: HaltReason, detail: string, now: number): void {
    const since = this.#reasons.get(reason)?.since ?? now;
    this.#reasons.set(reason, { reason, since, detail });
  }

  /** Returns true if this was the last reason, so that sending resumes. */
  end(reason: HaltReason): boolean {
    return this.#reasons.delete(reason) && this.#reasons.size === 0;
  }
}

const AGAIN_MS = 1000;
/**
 * A shortage is over after this long without another failure. This is longer than an attempt waits to be made again.
 */
const QUIET_MS = 3000;

/**
 * Handles attempts that fail through our own fault, because this process or host ran out of something. Such an attempt
 * is repeated in a second and uses no rung. Until the shortage is over, the sender starts fewer attempts at a time.
 */
export class Shortage {
  /** Null unless there is a shortage now. */
  halt: Halt | null = null;
  #waiting: Claim[] = [];
  /**
   * The monotonic time at which `timePassed` has something to do. Infinity if nothing waits and the shortage is over.
   */
  wakeAt = Number.POSITIVE_INFINITY;
  #againAt = Number.POSITIVE_INFINITY;
  #overAt = Number.POSITIVE_INFINITY;

  /** The attempt failed, but not through the receiver's fault. Its delivery waits to be sent again. */
  wait(claim: Claim, detail: string, now: Now): void {
    this.halt = { reason: "shortage", since: this.halt?.since ?? now.wall, detail };
    this.#againAt = Math.min(this.#againAt, now.monotonic + AGAIN_MS);
    this.#overAt = now.monotonic + QUIET_MS;
    this.wakeAt = this.#againAt;
    this.#waiting.push(claim);
  }

  /** Returns the deliveries to send again, and whether the shortage is over. */
  timePassed(now: number): { readonly again: readonly Claim[]; readonly isOver: boolean } {
    const again = now >= this.#againAt ? this.#waiting.splice(0) : [];
    if (now >= this.#againAt) this.#againAt = Number.POSITIVE_INFINITY;
    const isOver = now >= this.#overAt;
    if (isOver) {
      this.#overAt = Number.POSITIVE_INFINITY;
      this.halt = null;
    }
    this.wakeAt = Math.min(this.#againAt, this.#overAt);
    return { again, isOver };
  }

  /** The waiting deliveries are on the disk as well. */
  stop(): void {
    this.wakeAt = this.#againAt = this.#overAt = Number.POSITIVE_INFINITY;
  }
}

export type Reach = "clear" | "open" | "out";

const HOSTS = 3;
/** Attempts that began together end a little apart, so a verdict against the receivers waits this much longer. */
const GRACE = 1 / 10;
/** When this host says that it is cut off, believe it once no receiver has given a sign for this long. */
const CUT_OFF_MS = 5000;
/** The maximum number of silent hosts to remember. */
const SILENT_LIMIT = 10_000;

/**
 * Decides whether nothing at all can be reached, which is our own fault and uses up no rung. There are two proofs:
 * - for as long as an attempt may take, at least three hosts were tried, and no look-up and no connection to any of
 *   them got an answer (a refusal is one, and so is "there is no such name");
 * - this host itself says that it is cut off (it has no route, or no resolver), and no receiver has given a sign for a
 *   moment.
 *
 *   clear ──a host gave no sign──► open ──long enough, proven──► out
 *     ▲ ◄──────a sign of anybody────┤                            │
 *     │ ◄──long enough, not proven──┘                            │
 *     └◄────────────────────────a sign of anybody────────────────┘
 *
 * While it is open, nobody knows yet whose fault the failures are. A host that is known to be silent proves nothing by
 * being silent again: three dead customers, alone in a quiet night, must reach the end of their ladders. Nor does a
 * host that seemed cut off while others could be reached, because it may lie in a network of its own. Times are
 * monotonic milliseconds.
 */
export class Outage {
  reach: Reach = "clear";
  /** The time at which the silence began. It has no meaning while `clear`. */
  since = 0;
  readonly #afterMs: number;
  #lastSignAt = Number.NEGATIVE_INFINITY;
  #outUntil = Number.NEGATIVE_INFINITY;
  /** The hosts that gave no sign in this silence. */
  readonly #hosts = new Set<string>();
  /** The hosts that this host said it is cut off from. */
  readonly #cutOff = new Set<string>();
  /** The hosts whose last failure turned out to be their own fault. */
  readonly #silent = new Set<string>();

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** True if `sign` needs the host's name. */
  get tellsHostsApart(): boolean {
    return this.#silent.size > 0 || this.#cutOff.size > 0;
  }

  /** True if the host's last failure turned out to be its own fault. */
  isSilent(host: string): boolean {
    return this.#silent.has(host);
  }

  /** The number of hosts that gave no sign in this silence. */
  get hosts(): number {
    return this.#hosts.size;
  }

  /** While `open`, the time at which `look` will decide, unless something happens before. */
  get decidesAt(): number {
    const at = this.since + this.#afterMs * (this.isProven ? 1 : 1 + GRACE);
    return this.#isCutOff ? Math.min(at, this.#lastSignAt + Math.min(CUT_OFF_MS, this.#afterMs)) : at;
  }

  /** True if `look` will find an outage, unless a sign arrives first. */
  get isProven(): boolean {
    return this.#isCutOff || this.#unsilenced(this.#hosts, HOSTS);
  }

  /**
   * True if an outage that has ended lasted until after `instant`. An attempt that began in it and failed had no
   * chance.
   */
  wasOutAt(instant: number): boolean {
    return instant < this.#outUntil;
  }

  /** A sign of this host arrived at `at`. */
  sign(host: string | null, at: number): void {
    this.#lastSignAt = Math.max(this.#lastSignAt, at);
    if (host !== null) this.#silent.delete(host);
    if (this.reach === "clear" || at <= this.since) return;
    if (this.reach === "open") this.#remember(this.#hosts, host);
    else {
      this.#outUntil = at;
      // Remember these as cut off. A host that answers after the outage is removed again; one in an unreachable network
      // is not.
      if (host !== null) this.#remember(this.#cutOff, host);
    }
    this.#clear();
  }

  /** An attempt began at `startedAt` and ended at `now` without a sign of this host. */
  noSign(host: string, startedAt: number, now: number): void {
    const since = Math.min(now, Math.max(startedAt, this.#lastSignAt));
    if (this.reach !== "out") this.since = this.reach === "clear" ? since : Math.min(this.since, since);
    if (this.reach === "clear") this.reach = "open";
    this.#hosts.add(host);
  }

  /** This host has no route to that one, which explains the missing sign. */
  cutOff(host: string): void {
    if (this.#hosts.has(host)) this.#cutOff.add(host);
  }

  look(now: number): Reach {
    if (this.reach !== "open" || now < this.decidesAt) return this.reach;
    if (this.isProven) return (this.reach = "out");
    this.#remember(this.#hosts, null);
    this.#clear();
    return this.reach;
  }

  get #isCutOff(): boolean {
    return this.#unsilenced(this.#cutOff, 1);
  }

  #unsilenced(among: ReadonlySet<string>, enough: number): boolean {
    let hosts = 0;
    for (const host of among) if (!this.#silent.has(host) && ++hosts === enough) return true;
    return false;
  }

  #clear(): void {
    this.reach = "clear";
    this.#hosts.clear();
    this.#cutOff.clear();
  }

  #remember(hosts: ReadonlySet<string>, except: string | null): void {
    for (const host of hosts) if (host !== except) this.#silent.add(host);
    for (const oldest of this.#silent) {
      if (this.#silent.size <= SILENT_LIMIT) break;
      this.#silent.delete(oldest);
    }
  }
}
