/**
 * The answers of filters about the events of a publish. Short work is done at once, inside the commit. Long work would
 * hold up the publishes of others, so it is handed out, to be done in pieces before the publish is retried.
 */
import { type FieldError, WebhookdError } from "../../errors.ts";
import type { EventDraft } from "../event.ts";
import { FilterIndex, type Filtered } from "./filter-index.ts";
import { matches, type Subject } from "./evaluate.ts";
import type { Filter } from "./filter.ts";
import { MAX_LOOKS } from "./looks.ts";
import { subjectOf } from "./subject.ts";

/** The looks of all filters together at one event. Beyond that they let it through, as each of them does. */
export const MAX_EVENT_LOOKS = 100 * MAX_LOOKS;
/** The maximum number of looks of all filters together at the events of a batch. */
export const MAX_BATCH_LOOKS = 1000 * MAX_LOOKS;
/** The looks that a publish may take inside its commit: they take some tenths of a millisecond. */
const SHORT_LOOKS = MAX_LOOKS / 2;
/** The looks after which a piece of long work ends. */
const PIECE_LOOKS = MAX_LOOKS;
/** So many bytes of data are parsed in the time of a look. */
const BYTES_PER_LOOK = 8;

/** The answers about one event. Equal filters are asked once. */
class Verdicts {
  readonly subject: Subject;
  readonly #known = new Map<string, boolean>();
  /** The looks that it costs to parse the data; 0 once that is done. */
  costOfParsing: number;
  #left = MAX_EVENT_LOOKS;

  constructor({ type, data, labels }: EventDraft) {
    this.subject = subjectOf(type, data, (labels?.tags ?? []).toSorted());
    this.costOfParsing = data.length / BYTES_PER_LOOK;
  }

  of(filter: Filter): boolean | undefined {
    return this.#known.get(filter.text);
  }

  /** Returns the looks that it took. */
  ask(filter: Filter): number {
    const most = Math.min(MAX_LOOKS, this.#left);
    const looks = { left: most };
    this.#known.set(filter.text, matches(filter, this.subject, looks));
    const took = Math.min(most - looks.left, most);
    this.#left -= took;
    return took;
  }
}

/** Remembers answers between the tries of a publish. */
const answered = new WeakMap<EventDraft, Verdicts>();

/** Asks the filters about the events of one request, until that has taken too long. */
export class Asking {
  #left = SHORT_LOOKS;
  readonly #open = new Map<Verdicts, FilterIndex>();

  /** Returns the endpoints whose filter takes the event. Some may be missing if there is long work. */
  recipients<Endpoint extends Filtered>(draft: EventDraft, endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const index = FilterIndex.of(endpoints);
    if (index.isPlain) return endpoints;
    let verdicts = answered.get(draft);
    if (verdicts === undefined) {
      verdicts = new Verdicts(draft);
      this.#left -= verdicts.costOfParsing;
      if (this.#left < 0) answered.set(draft, verdicts);
      else verdicts.costOfParsing = 0;
    }
    if (verdicts.costOfParsing > 0) {
      this.#open.set(verdicts, index);
      return [];
    }
    const taken = [...index.plain];
    for (const { filter, places } of index.mayTake(verdicts.subject)) {
      const known = verdicts.of(filter);
      if (known === undefined && this.#left < 0) {
        answered.set(draft, verdicts);
        this.#open.set(verdicts, index);
        break;
      }
      if (known === undefined) this.#left -= verdicts.ask(filter);
      if (verdicts.of(filter) === true) for (const place of places) taken.push(place);
    }
    return taken.toSorted((one, other) => one - other).map((place) => endpoints[place]!);
  }

  /** The work that is left, or null. */
  get long(): LongFilters | null {
    return this.#open.size === 0 ? null : new LongFilters(this.#open);
  }
}

/** Refuses a publish until filters have been asked that take long. `publishing` in `routing.ts` does that. */
export class LongFilters extends WebhookdError {
  readonly #open: ReadonlyMap<Verdicts, FilterIndex>;

  constructor(open: ReadonlyMap<Verdicts, FilterIndex>) {
    super("overloaded", "the filters of the tenant's endpoints take long for these events", { retryAfterSeconds: 1 });
    this.#open = open;
  }

  /** Each piece takes about a millisecond. Throws if a batch takes too long. */
  *pieces(): Generator<void, void> {
    let [piece, all] = [0, 0];
    for (const [verdicts, index] of this.#open) {
      piece += verdicts.costOfParsing;
      verdicts.costOfParsing = 0;
      for (const { filter } of index.mayTake(verdicts.subject)) {
        if (verdicts.of(filter) !== undefined) continue;
        const took = verdicts.ask(filter);
        piece += took;
        all += took;
        if (all > MAX_BATCH_LOOKS && this.#open.size > 1) throw batchTooLong();
        if (piece < PIECE_LOOKS) continue;
        yield;
        piece = 0;
      }
    }
  }
}

function batchTooLong(): WebhookdError {
  const detail = `the filters of the tenant's endpoints would look at more than ${MAX_BATCH_LOOKS} values of these events; send smaller batches`;
  const errors: readonly FieldError[] = [{ pointer: "/events", code: "fan_out_too_large", detail }];
  return new WebhookdError("validation_failed", detail, { errors });
}
