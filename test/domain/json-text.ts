/** Texts for the scanner's properties, and its extra rules written a second time, slowly, over tokens. */
import * as fc from "fast-check";
import type { JsonLimits } from "../../src/domain/json/json.ts";

const space = fc.constantFrom("", "", "", " ", "\n", "\t \r");
const escape = fc.constantFrom(
  "\\n",
  "\\u0061",
  "\\u00E9",
  "\\ud83e\\udd8a",
  "\\ud800",
  "\\udc00",
  "\\/",
  '\\"',
  "\\\\",
);
const string = fc
  .array(fc.oneof(fc.constantFrom("a", "b", "é", "🦊", "\u2028"), escape), { maxLength: 3 })
  .map((parts) => `"${parts.join("")}"`);
const scalar = fc.oneof(
  string,
  fc.constantFrom("true", "false", "null", "0", "-0", "1.10", "1e400", "2E-7", "9007199254740993"),
);

/** Valid but for the extra rules: nested, spaced, escaped, with keys that repeat now and then. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc
    .tuple(
      space,
      fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        scalar,
        fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join()}]`),
        fc
          .array(fc.tuple(space, string, space, tie("value")), { maxLength: 4 })
          .map((list) => `{${list.map(([a, key, b, value]) => a + key + b + ":" + value).join()}}`),
      ),
      space,
    )
    .map((parts) => parts.join("")),
})).value;

/** One character taken out, put in or replaced. */
export function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const piece = fc.constantFrom("", ...'{}[],:"\\ud8tfn0123.eE+- \n\0\x1f\x7f\u00a0\ufeffé');
  return fc.tuple(text, fc.nat(), fc.nat(1), piece).map(([from, at, taken, put]) => {
    const start = at % (from.length + 1);
    return (from.slice(0, start) + put + from.slice(start + taken)).toWellFormed();
  });
}

/** For a text that `JSON.parse` accepts: unique keys, no lone surrogates, depth, number of values, no byte-order mark. */
export function obeysTheExtraRules(text: string, limits: JsonLimits): boolean {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gu) ?? [];
  const open: Set<string>[] = [];
  let values = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.startsWith('"') && !(JSON.parse(token) as string).isWellFormed()) return false;
    if (tokens[index + 1] === ":") {
      const keys = open.at(-1)!;
      const key = JSON.parse(token) as string;
      if (keys.has(key)) return false;
      keys.add(key);
    } else if (token === "}" || token === "]") open.pop();
    else if (token !== "," && token !== ":") values++;
    if (token === "{" || token === "[") open.push(new Set());
    if (open.length > limits.maxDepth || values > limits.maxValues) return false;
  }
  return true;
}
