/**
 * The choices of endpoints: the names, patterns and filters by which they receive events, and whether these are signed
 * with a private key too. An operator changes them as the API does, and adds and deletes types on the way. The rules
 * are written here a second time, without the code under test.
 */
import type { Signature } from "../../src/domain/endpoints/endpoint.ts";
import { settledType } from "../../src/domain/events/catalogue.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import type { FilterDocument } from "../../src/domain/events/filter/filter.ts";
import type { Store } from "../../src/store/store.ts";
import { referenceTakes } from "../domain/filter-reference.ts";
import { TYPES } from "./application.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";

export interface Choice {
  readonly events: readonly string[];
  readonly filter: FilterDocument | null;
  readonly signatures: readonly Signature[];
}

/** The parts of an event that decide who receives it. */
export type Event = Pick<EventDraft, "tenant" | "type" | "data" | "labels">;

/** Types that are added and deleted. The application publishes them too, whether or not they exist. */
export const OWN_TYPES = ["new.1", "new.2"];
const NAMES = [...TYPES, ...OWN_TYPES, "*", "budget.*", "new.*", "carbon.*"];
const FILTERS: readonly (FilterDocument | null)[] = [
  null,
  null,
  { data: { kind: 0 } },
  { data: { kind: { $in: [1, 2] } } },
  { data: { kind: { $not: { $gt: 1 } } } },
  { $or: [{ tags: "vip" }, { type: { $startsWith: "new." } }] },
  { tags: { $nin: ["vip"] }, data: { n: { $gt: 9_007_199_254_740_991 } } },
  { data: { no: { $exist: true } } },
];
const TYPE = { description: "", schema: {}, sample: {}, group: null, validation: null, sunsetAt: null } as const;

export function drawChoice(random: Random): Choice {
  const events = NAMES.filter(() => random.chance(0.25));
  const signatures: Signature[] = random.chance(0.3) ? ["hmac", "ed25519"] : ["hmac"];
  return { events: events.length > 0 ? events : ["*"], filter: random.pick(FILTERS), signatures };
}

export function takes({ events, filter }: Choice, { type, data, labels }: Event): boolean {
  const words = type.split(".");
  const prefixes = words.map((_, at) => words.slice(0, at).join(".")).slice(1);
  if (!events.some((name) => name === "*" || name === type || prefixes.some((prefix) => name === `${prefix}.*`)))
    return false;
  if (filter === null) return true;
  const tags = (labels?.tags ?? []).toSorted();
  return referenceTakes(filter, { type, tags, data: JSON.parse(Buffer.from(data).toString()) });
}

/** The choices that an endpoint may have had. A request without a response may or may not have changed it. */
export class Chosen {
  readonly #spans: { readonly choice: Choice; from: number; to: number }[];

  constructor(first: Choice) {
    this.#spans = [{ choice: first, from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }];
  }

  /** The choices that it may have had at some moment since then. */
  since(instant: number): readonly Choice[] {
    return this.#spans.filter(({ to }) => to >= instant).map(({ choice }) => choice);
  }

  /** Another choice is requested. Call the returned function once it has been answered. */
  asked(choice: Choice, now: number): (answeredAt: number) => void {
    const span = { choice, from: now, to: Number.POSITIVE_INFINITY };
    this.#spans.push(span);
    return (answeredAt) => {
      for (const before of this.#spans.slice(0, this.#spans.indexOf(span))) before.to = Math.min(before.to, answeredAt);
    };
  }
}

/** Types that an operator adds and deletes, as far as the responses say. */
export class OwnTypes {
  readonly #random: Random;
  /** Null if it is unknown. */
  readonly #isThere = new Map<string, boolean | null>(OWN_TYPES.map((name) => [name, false]));

  constructor(random: Random) {
    this.#random = random;
  }

  /** Changes one type. A refusal changes nothing: a type that is in use is not deleted. */
  async touch(process: Process): Promise<void> {
    const { types } = process.store;
    const name = this.#random.pick(OWN_TYPES);
    const settings = { ...TYPE, deprecated: this.#random.chance(0.3), archived: this.#random.chance(0.3) };
    const isAdded = this.#random.chance(0.6);
    const before = this.#isThere.get(name)!;
    this.#isThere.set(name, null);
    const now = process.clock.now();
    try {
      if (isAdded) await types.put([name], (old) => settledType(name, old, settings, now));
      else await types.delete(name, now);
      if (process.alive) this.#isThere.set(name, isAdded);
    } catch (error) {
      const isInUse = (error as { code?: string }).code === "event_type_in_use";
      if (isInUse && process.alive) this.#isThere.set(name, before);
    }
  }

  /** V15, at the end: every type that was added exists, and none that was deleted does. */
  async check(store: Store): Promise<string[]> {
    const { types } = await store.types.list();
    return [...this.#isThere].flatMap(([name, isThere]) =>
      isThere === null || isThere === types.some((type) => type.name === name)
        ? []
        : [`V15: the type ${name} was ${isThere ? "added" : "deleted"}, and that was undone`],
    );
  }
}
