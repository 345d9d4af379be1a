/** Reads the time from the database, because times that several processes compare come from its clock. */
import { type Clock, DatabaseClock } from "../../../clock.ts";
import type { Queries } from "./database.ts";

/** Several answers narrow down the time. Stop after this many, or once it is known to this precision. */
const FIRST_ANSWERS = 20;
const KNOWN_MS = 2;
const NOW = "SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 AS now";

/** Does nothing with any other clock, such as one that a test moves. */
export async function hearTime(queries: Queries, clock: Clock): Promise<void> {
  if (!(clock instanceof DatabaseClock)) return;
  const asked = clock.monotonic();
  const [row] = await queries.rows<{ now: number }>(NOW);
  clock.observe(row!.now, asked, clock.monotonic());
}

/** Call this before anything is computed from the clock. */
export async function learnTime(queries: Queries, clock: Clock): Promise<void> {
  if (!(clock instanceof DatabaseClock)) return;
  for (let left = FIRST_ANSWERS; left > 0 && !(clock.uncertaintyMs <= KNOWN_MS); left--) await hearTime(queries, clock);
  clock.settle();
}
