/** Merge-patches (RFC 7396). */
import { isRecord, type JsonRecord } from "./record.ts";

/** Returns the patch that turns `before` into `after`, neither of which contains a null. */
export function patchTo(before: JsonRecord, after: JsonRecord): JsonRecord {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const kept = Object.entries(after).map(([name, value]) => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    return [name, isRecord(value) && isRecord(old) ? patchTo(old, value) : value] as const;
  });
  return Object.fromEntries([...gone.map((name) => [name, null] as const), ...kept]);
}
