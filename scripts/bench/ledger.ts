/**
 * Records what happened to each event, in memory that publishing and receiving threads share. Events are numbered from
 * 1; number 0 belongs to no event and is not recorded.
 */

export interface LedgerMemory {
  readonly counters: SharedArrayBuffer;
  readonly submittedAt: SharedArrayBuffer;
  readonly ackedAt: SharedArrayBuffer;
  readonly arrivedAt: SharedArrayBuffer;
  readonly arrivals: SharedArrayBuffer;
}

const COUNTERS = {
  submitted: 0,
  acked: 1,
  refused: 2,
  /** Connections that ended without a response, counted in events. */
  broken: 3,
  arrived: 4,
  duplicates: 5,
  requests: 6,
  verified: 7,
  forged: 8,
  malformed: 9,
} as const;
type Counter = keyof typeof COUNTERS;

/** The maximum number of events in a run. Unused pages cost nothing. */
const CAPACITY = 16_000_000;

export class Ledger {
  readonly memory: LedgerMemory;
  /** In milliseconds of `monotonic`. 0 if it has not happened. */
  readonly submittedAt: Float64Array;
  readonly ackedAt: Float64Array;
  readonly arrivedAt: Float64Array;
  readonly #arrivals: Uint8Array;
  readonly #counters: Int32Array;

  constructor(memory: LedgerMemory = allocate()) {
    this.memory = memory;
    this.submittedAt = new Float64Array(memory.submittedAt);
    this.ackedAt = new Float64Array(memory.ackedAt);
    this.arrivedAt = new Float64Array(memory.arrivedAt);
    this.#arrivals = new Uint8Array(memory.arrivals);
    this.#counters = new Int32Array(memory.counters);
  }

  /** Returns the count before. */
  count(counter: Counter, by = 1): number {
    return Atomics.add(this.#counters, COUNTERS[counter], by);
  }

  get(counter: Counter): number {
    return Atomics.load(this.#counters, COUNTERS[counter]);
  }

  arrive(seq: number, at: number): void {
    if (seq <= 0 || seq >= CAPACITY) return void this.count(seq === 0 ? "requests" : "malformed");
    this.count("requests");
    if (Atomics.add(this.#arrivals, seq, 1) > 0) return void this.count("duplicates");
    this.arrivedAt[seq] = at;
    this.count("arrived");
  }

  /** Yields the numbers of acked events that no receiver has seen. */
  *missing(): Generator<number> {
    const last = this.get("submitted");
    for (let seq = 1; seq <= last; seq++) if (this.ackedAt[seq]! > 0 && this.#arrivals[seq] === 0) yield seq;
  }
}

/** One clock for all threads of the machine, in milliseconds. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function allocate(): LedgerMemory {
  const times = () => new SharedArrayBuffer(8 * CAPACITY);
  return {
    counters: new SharedArrayBuffer(4 * Object.keys(COUNTERS).length),
    submittedAt: times(),
    ackedAt: times(),
    arrivedAt: times(),
    arrivals: new SharedArrayBuffer(CAPACITY),
  };
}
