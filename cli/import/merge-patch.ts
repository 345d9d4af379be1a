/** Merge-patches (RFC 7396). */
import { isRecord, type JsonRecord } from "./record.ts";

/** Returns the record as a merge-patch leaves it: without the members that are null. Arrays stay as they are. */
export function withoutNulls(record: JsonRecord): JsonRecord {
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      value === null ? [] : [[name, isRecord(value) ? withoutNulls(value) : value]],
    ),
  );
}

/** Returns the patch that turns `before` into `after`, neither of which contains a null. */
export function patchTo(before: JsonRecord, after: JsonRecord): JsonRecord {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const kept = Object.entries(after).map(([name, value]) => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    return [name, isRecord(value) && isRecord(old) ? patchTo(old, value) : value] as const;
  });
  return Object.fromEntries([...gone.map((name) => [name, null] as const), ...kept]);
}
