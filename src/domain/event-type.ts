/** The catalogue of event types: six built in, more by configuration. */
import { BUILT_IN_TYPES } from "./built-in-types.ts";

/** JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface EventType {
  readonly name: string;
  readonly description: string;
  /** Whether the specification fixes the data, or the sample is no more than an example. */
  readonly source: "specified" | "example";
  /** What `data` has to be; looked at only with `[events] validate`. */
  readonly schema: JsonSchema;
  /** The `data` of a test event. */
  readonly sample: Readonly<Record<string, unknown>>;
}

/** Words parted by dots. The name stands unescaped in the envelope, so nothing that JSON would escape is let in. */
const NAME = /^(?=.{1,128}$)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/** The prefix of our own operational events. */
const RESERVED = "webhookd.";

/** Why a configuration may not add a type of this name, as the end of a sentence; null if it may. */
export function nameFault(name: string): string | null {
  if (!NAME.test(name)) return "is no name for an event type: words of letters, digits, _ and -, parted by dots";
  if (name.startsWith(RESERVED)) return `begins with ${RESERVED}, which is kept for the daemon's own events`;
  return BUILT_IN_TYPES.some((type) => type.name === name) ? "is built in and cannot be redefined" : null;
}

/** The six and the configured ones by name. Throws a `RangeError` for a name that may not be added or stands twice. */
export function catalogue(extra: Iterable<EventType> = []): Map<string, EventType> {
  const types = new Map(BUILT_IN_TYPES.map((type) => [type.name, type]));
  for (const type of extra) {
    const fault = nameFault(type.name) ?? (types.has(type.name) ? "is there twice" : null);
    if (fault !== null) throw new RangeError(`the event type ${type.name} ${fault}`);
    types.set(type.name, type);
  }
  return types;
}
