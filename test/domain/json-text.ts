/** Texts for the properties of the scanner, and a slow second version of its extra rules, which works on tokens. */
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

/** Valid JSON that may break the extra rules: nested, spaced, escaped, and now and then with a repeated key. */
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

/** Removes, inserts or replaces one character. */
export function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const piece = fc.constantFrom("", ...'{}[],:"\\ud8tfn0123.eE+- \n\0\x1f\x7f\u00a0\ufeffé');
  return fc.tuple(text, fc.nat(), fc.nat(1), piece).map(([from, at, taken, put]) => {
    const start = at % (from.length + 1);
    return (from.slice(0, start) + put + from.slice(start + taken)).toWellFormed();
  });
}

/**
 * True if a text that `JSON.parse` accepts has unique keys, no lone surrogates, no byte-order mark, and is within the
 * limits on depth and number of values.
 */
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
