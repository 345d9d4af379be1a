/**
 * Builds the body of a request, byte for byte as it is sent. `data` is cut out of the response, because parsing could
 * change it.
 */

/** `answer` is the text of the response to `getEvent`. Null if the event was erased, or if damage lost its data. */
export function envelopeOf(answer: string): string | null {
  const event = JSON.parse(answer) as Record<"id" | "type" | "created_at", string> & { readonly data: object | null };
  if (event.data === null) return null;
  const { id, type, created_at: createdAt } = event;
  const start = JSON.stringify({ id, type, created_at: createdAt }).slice(0, -1);
  return `${start},"data":${memberOf(answer, "data")}}`;
}

/** Returns the text of a member of the outermost object, or "null" if there is none. */
export function memberOf(json: string, name: string): string {
  const key = JSON.stringify(name);
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (char === '"') {
      const end = endOfString(json, at);
      const colon = /^\s*:\s*/.exec(json.slice(end, end + 20));
      if (depth === 1 && colon !== null && json.slice(at, end) === key) {
        const start = end + colon[0].length;
        return json.slice(start, endOfValue(json, start));
      }
      at = end - 1;
    }
  }
  return "null";
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Returns the index of the value's end, without white space before the next comma or bracket. */
function endOfValue(json: string, start: number): number {
  let depth = 0;
  let at = start;
  for (; at < json.length; at++) {
    const char = json[at]!;
    if (char === '"') at = endOfString(json, at) - 1;
    else if (char === "{" || char === "[") depth++;
    else if (depth === 0 && (char === "," || char === "}" || char === "]")) break;
    else if (char === "}" || char === "]") depth--;
  }
  return start + json.slice(start, at).trimEnd().length;
}
