/** Prepares a stored event for filters. The portal evaluates filters too, without bytes. */
import { parseSpan } from "../../json/json.ts";
import type { Subject } from "./evaluate.ts";

/** Parses the data, which was checked when it was published, only when a filter looks at it. */
export function subjectOf(type: string, data: Uint8Array, tags: readonly string[]): Subject {
  let parsed: unknown;
  return {
    type,
    tags,
    get data() {
      return (parsed ??= parseSpan(data, { start: 0, end: data.length }));
    },
  };
}
