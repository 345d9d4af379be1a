export interface BenchOptions {
  /** The length of each measured window; each scenario has its own if null. */
  readonly seconds: number | null;
  readonly rounds: number | null;
  /** The daemon's sender threads; its own default if null. */
  readonly threads: number | null;
  /** Takes CPU profiles of the daemon where a scenario is about its CPU, which makes it slower. */
  readonly profile: boolean;
  /** Of a scenario with several cases, those to run; all if not given. */
  readonly cases?: readonly string[] | undefined;
  /** The other tools that webhookd is measured beside; all that are installed if not given. */
  readonly peers?: readonly string[] | undefined;
  /** In the store that a scenario reads in, where it may be of any size; its own default if not given. */
  readonly events?: number | null;
  /** Where `lists` reads its lists and `pending` publishes; in a file if not given. */
  readonly store?: "postgres" | undefined;
  /** A line on what is going on. */
  readonly note: (text: string) => void;
}
