/** RFC 7396: a member that is null goes, an object is merged into what is there, anything else takes its place. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  // A map, because `__proto__` is a key like any other.
  const merged = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = merged.get(name);
    if (value === null) merged.delete(name);
    else merged.set(name, isObject(value) ? mergePatch(isObject(before) ? before : {}, value) : value);
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
