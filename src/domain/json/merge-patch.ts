/** Merge patches (RFC 7396): objects that say what changes in another one. Null removes a member. */

export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object is merged into the existing one, and any other value replaces it. */
export function mergePatch(target: JsonRecord, patch: JsonRecord): Record<string, unknown> {
  // Use a map, because `__proto__` is an ordinary key here.
  const merged = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = merged.get(name);
    if (value === null) merged.delete(name);
    else merged.set(name, isRecord(value) ? mergePatch(isRecord(before) ? before : {}, value) : value);
  }
  return Object.fromEntries(merged);
}

/** Returns the patch that turns `before` into `after`, which has no null outside of an array. */
export function patchTo(before: JsonRecord, after: JsonRecord): JsonRecord {
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const known = Object.hasOwn(before, name) ? before[name] : undefined;
    if (JSON.stringify(known) === JSON.stringify(value)) return [];
    return [[name, isRecord(value) && isRecord(known) ? patchTo(known, value) : value] as const];
  });
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...changed]);
}

/**
 * True if a member is null, which a patch could only remove. An array is replaced as a whole, so it may contain null.
 */
export function hasNull(record: JsonRecord): boolean {
  return Object.values(record).some((one) => one === null || (isRecord(one) && hasNull(one)));
}

/** Returns the record without the members that are null. */
export function withoutNulls(record: JsonRecord): JsonRecord {
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      value === null ? [] : [[name, isRecord(value) ? withoutNulls(value) : value]],
    ),
  );
}
