/** What time it is: all that several processes compare goes by the clock of their database. */
import { type Clock, DatabaseClock } from "../../../clock.ts";
import type { Queries } from "./database.ts";

/** Answers that come at different moments narrow the time down: so many of them, or until it is known that well. */
const FIRST_ANSWERS = 20;
const KNOWN_MS = 2;
const NOW = "SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 AS now";

/** Does nothing for any other clock: a test moves that one. */
export async function hearTime(queries: Queries, clock: Clock): Promise<void> {
  if (!(clock instanceof DatabaseClock)) return;
  const asked = clock.monotonic();
  const [row] = await queries.rows<{ now: number }>(NOW);
  clock.heard(row!.now, asked, clock.monotonic());
}

/** Before anything is reckoned by it. */
export async function learnTime(queries: Queries, clock: Clock): Promise<void> {
  if (!(clock instanceof DatabaseClock)) return;
  for (let left = FIRST_ANSWERS; left > 0 && !(clock.uncertaintyMs <= KNOWN_MS); left--) await hearTime(queries, clock);
  clock.settle();
}
