/** The metadata of an endpoint while a person types it: the text of a JSON object. */

type JsonObject = Readonly<Record<string, unknown>>;

export function metadataText(metadata: JsonObject): string {
  return Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata, null, 2);
}

/** Returns the mistake in the text, or undefined. */
export function metadataFault(text: string): string | undefined {
  const value = valueOf(text);
  if (value === undefined) return "This is not JSON. Check the quotes, commas and brackets.";
  if (!isObject(value)) return 'This must be a JSON object, such as {"team": "billing"}.';
  return hasNull(value) ? "A member cannot be null here. Leave it out instead." : undefined;
}

/** Returns the merge patch (RFC 7396) that turns `before` into the text, which has no fault. */
export function metadataPatch(before: JsonObject, text: string): JsonObject {
  return patchOf(before, valueOf(text) as JsonObject);
}

function valueOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function patchOf(before: JsonObject, after: JsonObject): JsonObject {
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const known = Object.hasOwn(before, name) ? before[name] : undefined;
    if (JSON.stringify(known) === JSON.stringify(value)) return [];
    return [[name, isObject(value) && isObject(known) ? patchOf(known, value) : value] as const];
  });
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...changed]);
}

/** A merge patch takes null for the removal of a member. An array is replaced as a whole, so it may contain null. */
function hasNull(value: JsonObject): boolean {
  return Object.values(value).some((one) => one === null || (isObject(one) && hasNull(one)));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
