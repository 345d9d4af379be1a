/** What a job would be over, before it is made: counted in slices, or written down piece by piece. */
import type { JobPlan, JobSet, LeftOfEndpoint } from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { Reading } from "../engine/page.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Selected } from "../questions/questions.ts";
import type { JobSelection, Selection } from "./job-selection.ts";

interface Tally {
  matched: number;
  timedOut: number;
  left: LeftOfEndpoint | null;
}

interface Parts {
  readonly index: EndpointIndex;
  readonly attempts: Attempts;
  readonly selection: JobSelection;
}

export class JobPlanner {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A piece is as many pages as fit into a slice. */
  *select(set: JobSet): Reading<void, readonly Selected[]> {
    const pages = this.#parts.selection.of(set);
    for (let some = nextOf(pages); some !== null; some = nextOf(pages)) yield some;
  }

  *plan(set: JobSet): Reading<JobPlan> {
    const { index, selection } = this.#parts;
    const tallies = new Map<number, Tally>();
    const pages = selection.of(set);
    for (let some = nextOf(pages); some !== null; some = nextOf(pages)) {
      for (const selected of some) this.#count(selected, tallies);
      yield;
    }
    const all = [...tallies];
    return {
      matched: all.reduce((sum, [, { matched }]) => sum + matched, 0),
      endpoints: all
        .filter(([, { matched }]) => matched > 0)
        .map(([endpoint, { matched, timedOut }]) => ({ endpoint: index.byNumber(endpoint).id, matched, timedOut })),
      left: all.flatMap(([, { left }]) => left ?? []),
    };
  }

  #count({ event, endpoint, left }: Selected, tallies: Map<number, Tally>): void {
    const { attempts, index } = this.#parts;
    let tally = tallies.get(endpoint);
    if (tally === undefined) tallies.set(endpoint, (tally = { matched: 0, timedOut: 0, left: null }));
    if (left !== null) {
      const deliveries = (tally.left?.deliveries ?? 0) + 1;
      tally.left = { endpoint: index.byNumber(endpoint).id, deliveries, reason: left };
      return;
    }
    tally.matched++;
    if (attempts.lastMatches(event, endpoint, { error: "timeout" })) tally.timedOut++;
  }
}

/** Null at the end. */
function nextOf(pages: Generator<Selection, void>): readonly Selected[] | null {
  const selected: Selected[] = [];
  for (let looked = 0; looked < CHUNK;) {
    const { value, done } = pages.next();
    if (done === true) return selected.length === 0 ? null : selected;
    selected.push(...value.selected);
    looked += value.looked;
  }
  return selected;
}
