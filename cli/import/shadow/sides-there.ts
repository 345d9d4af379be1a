/** Reads what the other sender has sent to each endpoint, from its API or from a log. */
import { Failure } from "../../failure.ts";
import { grouped } from "../../output/words.ts";
import { someAtOnce } from "../at-once.ts";
import { loggedIn } from "./attempt-log.ts";
import { type Imported, namesOf } from "./here.ts";
import { Sides, type Span } from "./sides.ts";
import type { Attempts } from "./there.ts";

interface Within {
  readonly span: Span;
  /** The span with the slack on both ends. An event outside of it is no partner, however equal. */
  readonly wide: Span;
  /** The most events that are kept. */
  readonly most: number;
}

export type SidesOf = ReadonlyMap<string, Sides>;

class TooMany extends Failure {
  constructor(most: number) {
    super(
      "refused",
      `there are more events than the ${grouped(most)} that can be compared at a time`,
      "Compare a shorter span.",
    );
  }
}

export function sidesOfLog(file: string, imported: readonly Imported[], { span, wide, most }: Within): SidesOf {
  const sides = new Map(imported.map(({ id }) => [id, new Sides(span)]));
  const byName = namesOf(imported);
  const seen = new Set<string>();
  for (const { endpoint, ...sent } of loggedIn(file)) {
    const id = byName.get(endpoint);
    if (id === undefined || sent.at < wide.since || sent.at > wide.until) continue;
    // Each attempt of an event has a line.
    const { size } = seen;
    if (seen.add(`${id} ${sent.event}`).size === size) continue;
    if (size >= most) throw new TooMany(most);
    sides.get(id)!.there(sent);
  }
  return sides;
}

const AT_ONCE = 4;

export async function sidesOf(
  attempts: Attempts,
  some: readonly Imported[],
  { span, wide, most }: Within,
): Promise<SidesOf> {
  const sides = new Map(some.map(({ id }) => [id, new Sides(span)]));
  let kept = 0;
  await someAtOnce(some, AT_ONCE, async ({ id, there, tenant }) => {
    for await (const sent of attempts({ id: there, tenant }, wide)) {
      if (++kept > most) throw new TooMany(most);
      sides.get(id)!.there(sent);
    }
  });
  return sides;
}
