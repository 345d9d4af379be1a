/**
 * Puts answers of stores into words that can be compared: whatever a store may choose itself is renamed or left out.
 */

const ID = /\b(?:evt|dlv|att)_[0-9a-z]{26}\b|\bwhsk_[A-Za-z0-9+/]{43}=/gu;
/** Each store has its own values for these fields. */
const OPAQUE = new Set(["revision", "nextCursor", "cutShort", "commitTimes", "next", "reached"]);

/** `names` has the ids that occurred before: each is named after its first occurrence. */
export function inWords(answer: unknown, names: Map<string, string>): string {
  return JSON.stringify(plain(answer, names), null, 1).replace(ID, (id) => {
    let name = names.get(id);
    if (name === undefined) names.set(id, (name = `${id.slice(0, 3)}#${names.size}`));
    return name;
  });
}

function plain(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (Array.isArray(value)) return value.map((one) => plain(one, names));
  // The order of a set is the store's own. Ids differ between stores, so that they must not decide it.
  if (value instanceof Set || value instanceof Map) {
    const key = (one: unknown) => JSON.stringify(one).replace(ID, (id) => names.get(id) ?? "");
    return [...value].map((one) => plain(one, names)).toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name, one]) => !OPAQUE.has(name) && one !== undefined);
  const inOrder = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(inOrder.map(([name, one]) => [name, plain(one, names)]));
}
