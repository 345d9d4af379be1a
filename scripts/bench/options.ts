export interface BenchOptions {
  /** The length of each measured window. If null, each scenario uses its own. */
  readonly seconds: number | null;
  readonly rounds: number | null;
  /** The number of the daemon's sender threads. If null, its default. */
  readonly threads: number | null;
  /** If true, takes CPU profiles of the daemon in scenarios about its CPU, which slows it down. */
  readonly profile: boolean;
  /** The cases to run of a scenario with several. If absent, all. */
  readonly cases?: readonly string[] | undefined;
  /** The other tools to compare webhookd with. If absent, all that are installed. */
  readonly peers?: readonly string[] | undefined;
  /** The number of events in the store that a scenario reads, if it may have any size. If absent, its default. */
  readonly events?: number | null;
  /** The store in which `lists` reads and `pending` publishes. If absent, a file. */
  readonly store?: "postgres" | undefined;
  /** Prints a line about the progress. */
  readonly note: (text: string) => void;
}
