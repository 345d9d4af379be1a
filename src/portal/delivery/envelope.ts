/**
 * Builds the body of a request, byte for byte as it is sent. `data` is cut out of the response, because parsing could
 * change it.
 */
import type { Endpoint, Event } from "../../client/operations.ts";
import { formatNamed, shapeOf, type BodyShape } from "../../domain/endpoints/body-format.ts";

export interface SentBody extends Pick<BodyShape, "contentType" | "headers"> {
  readonly body: string;
}

/** The reason why there is no body to show: the data was erased or lost, or only a newer page knows the format. */
export type NoBody = "erased" | "unknown_format";

/**
 * `answer` is the text of the response to `getEvent`. The body of an endpoint that was deleted is shown as the envelope.
 */
export function sentBody(answer: string, named: Endpoint["format"] = "envelope"): SentBody | NoBody {
  const {
    id,
    type,
    created_at: createdAt,
    tenant,
    data,
  } = JSON.parse(answer) as Event & { readonly data: object | null };
  if (data === null) return "erased";
  const format = formatNamed(named);
  if (format === null) return "unknown_format";
  const { contentType, headers, before, after } = shapeOf(format, { id, type, createdAt, tenant });
  return { contentType, headers, body: `${before}${memberOf(answer, "data")}${after}` };
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
