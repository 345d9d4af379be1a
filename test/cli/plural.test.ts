/** Code that prints a count must handle the singular and the plural: "1 delivery", "2 deliveries". */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const NOUNS =
  "deliveries|events|endpoints|attempts|jobs|rows|types|keys|characters|requests|tries|lines|days|errors|groups|tenants";
/** Finds a number followed by a noun that is always plural. The value of a CONSTANT is never one. */
const FIXED = new RegExp(
  String.raw`(?<!of )\$\{(?!glyph|others\.length \+ 1|MAX|MIN|MOST|LEAST|DEATHS|FAILURES)[^{}]*\} (?:more |failed |other )?(?:${NOUNS})\b(?! create)`,
);

it.each(globSync("{cli,tui}/**/*.{ts,tsx}"))("%s prints no count with a noun that does not fit it", (file) => {
  const lines = readFileSync(file, "utf8").split("\n");
  const wrong = lines.filter(
    (line, at) => FIXED.test(line) && !/=== 1|length > 1|!== 1/.test(`${lines[at - 1]}${line}`),
  );
  expect(wrong).toEqual([]);
});
