/**
 * Whether nothing at all can be reached, which is our own fault and nobody's rung: for as long as an attempt may take,
 * no lookup and no connection to any of at least three hosts got an answer (a refusal is one, and so is "there is no
 * such name").
 *
 *   clear ──a host gave no sign──► open ──long enough, three hosts──► out
 *     ▲ ◄──────a sign of anybody────┤                                  │
 *     │ ◄──long enough, fewer hosts─┘                                  │
 *     └◄───────────────────────────a sign of anybody───────────────────┘
 *
 * While it is open, nobody knows yet whose fault the failures are. A host that is known to be silent proves nothing by
 * being silent again: three dead customers, alone in a quiet night, must come to the end of their ladders.
 *
 * Times are monotonic milliseconds.
 */
export type Reach = "clear" | "open" | "out";

const HOSTS = 3;
/** Attempts that began together end a little apart: so much longer a judgement in the receivers' disfavour waits. */
const GRACE = 1 / 10;
/** Silent hosts that are remembered. */
const SILENT_LIMIT = 10_000;

export class Outage {
  reach: Reach = "clear";
  /** When the silence began; means something unless `clear`. */
  since = 0;
  readonly #afterMs: number;
  #lastSignAt = Number.NEGATIVE_INFINITY;
  #outUntil = Number.NEGATIVE_INFINITY;
  /** Who gave no sign in this silence. */
  readonly #hosts = new Set<string>();
  /** Whose last failure was found to be their own. */
  readonly #silent = new Set<string>();

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** Whether `sign` must be told of whom it is. */
  get caresWho(): boolean {
    return this.#silent.size > 0;
  }

  /** While `open`: when `look` will decide, if nothing more happens. */
  get decidesAt(): number {
    return this.since + this.#afterMs * (this.#proven ? 1 : 1 + GRACE);
  }

  /** Whether an outage that has ended lasted until then: whoever began in it and failed had no chance. */
  wasOutAt(instant: number): boolean {
    return instant < this.#outUntil;
  }

  /** Something came of this host at `at`. */
  sign(host: string | null, at: number): void {
    this.#lastSignAt = Math.max(this.#lastSignAt, at);
    if (host !== null) this.#silent.delete(host);
    if (this.reach === "clear" || at <= this.since) return;
    if (this.reach === "open") this.#remember(host);
    else this.#outUntil = at;
    this.#clear();
  }

  /** An attempt began at `startedAt` and ended at `now` without a sign of this host. */
  noSign(host: string, startedAt: number, now: number): void {
    const since = Math.min(now, Math.max(startedAt, this.#lastSignAt));
    if (this.reach !== "out") this.since = this.reach === "clear" ? since : Math.min(this.since, since);
    if (this.reach === "clear") this.reach = "open";
    this.#hosts.add(host);
  }

  look(now: number): Reach {
    if (this.reach !== "open" || now < this.decidesAt) return this.reach;
    if (this.#proven) return (this.reach = "out");
    this.#remember(null);
    this.#clear();
    return this.reach;
  }

  get #proven(): boolean {
    let hosts = 0;
    for (const host of this.#hosts) if (!this.#silent.has(host) && ++hosts === HOSTS) return true;
    return false;
  }

  #clear(): void {
    this.reach = "clear";
    this.#hosts.clear();
  }

  #remember(except: string | null): void {
    for (const host of this.#hosts) if (host !== except) this.#silent.add(host);
    for (const oldest of this.#silent) {
      if (this.#silent.size <= SILENT_LIMIT) break;
      this.#silent.delete(oldest);
    }
  }
}
