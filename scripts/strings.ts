/**
 * Prints strings that users read, drawn at random, for proofreading: sentences of the hand-written pages, and texts of
 * the program. The same seed draws the same strings from the same checkout.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";
import { scriptArguments } from "./arguments.ts";

const USAGE = `npm run strings -- [--seed N] [--count N | --all] [FOLDER_OR_FILE…]

Prints 200 of the strings that users read, drawn at random, with file and line. --all prints each of them.`;

const { values, positionals, refuse } = scriptArguments(
  USAGE,
  {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "200" },
    all: { type: "boolean", default: false },
  },
  true,
);
for (const name of ["seed", "count"] as const) {
  if (!/^\d{1,9}$/u.test(values[name])) refuse(`--${name} "${values[name]}" is not a whole number.`);
}

interface Found {
  readonly place: string;
  readonly text: string;
}

/** Matches text that is not prose: SQL, style sheets, code that is printed to be pasted, and markup. */
const NOT_PROSE =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|WHERE|VALUES|ORDER BY|REFERENCES|PRIMARY KEY|NOT NULL|INDEXED|AND)\b|^webhookd |=>|\bfunction\b|[{};]\s*$|^\s*[<@.#]|^--|<\/|\bimport\b.*\bfrom\b/u;
const isProse = (text: string): boolean =>
  text.split(/\s+/u).filter((word) => /^[("“`*[]*\p{L}[\p{L}’'-]+[)"”`*\].,:;?!]*$/u.test(word)).length >= 3 &&
  !NOT_PROSE.test(text);
const oneLine = (text: string): string => text.replace(/\s+/gu, " ").trim();

type Node = { readonly type: string; readonly start: number; readonly end: number } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === "string";

/**
 * Returns the text of a literal, of a template (with "…" for its expressions), or of several joined by "+". Null for
 * any other node.
 */
function textOf(node: Node): string | null {
  if (node.type === "Literal") return typeof node["value"] === "string" ? node["value"] : null;
  if (node.type === "JSXText") return node["value"] as string;
  if (node.type === "TemplateLiteral") {
    return (node["quasis"] as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join("…");
  }
  if (node.type !== "BinaryExpression" || node["operator"] !== "+") return null;
  const parts = [node["left"], node["right"]].map((part) => textOf(part as Node));
  return parts.every((part) => part === null) ? null : parts.map((part) => part ?? "…").join("");
}

function ofProgram(file: string): Found[] {
  const source = readFileSync(file, "utf8");
  const found: Found[] = [];
  const visit = (node: Node): void => {
    if (/^(?:Import|ExportAll|TS(?!As|Satisfies|NonNull))/u.test(node.type)) return;
    const text = textOf(node);
    if (text !== null && isProse(text)) {
      const line = source.slice(0, node.start).split("\n").length;
      found.push({ place: `${file}:${line}`, text: oneLine(text) });
    }
    for (const child of text !== null && node.type !== "TemplateLiteral" ? [] : Object.values(node).flat()) {
      if (isNode(child)) visit(child);
    }
  };
  visit(parseAst(source, { lang: file.endsWith("x") ? "tsx" : "ts" }) as unknown as Node);
  return found;
}

/** Returns the sentences, table cells and headings of a page, without its code blocks. */
function ofPage(file: string): Found[] {
  const found: Found[] = [];
  let block: string[] = [];
  let begins = 1;
  let code = false;
  const end = (): void => {
    const paragraph = oneLine(block.join(" ").replace(/^(?:[-*#>]+|\d+\.)\s+/u, ""));
    for (const text of paragraph.startsWith("|")
      ? paragraph.split("|")
      : paragraph.split(/(?<=[.?!])\s+(?=[A-Z`[*])/u)) {
      if (isProse(text)) found.push({ place: `${file}:${begins}`, text: text.trim() });
    }
    block = [];
  };
  for (const [at, line] of readFileSync(file, "utf8").split("\n").entries()) {
    if (/^\s*(?:```|~~~)/u.test(line)) code = !code;
    if (/^\s*(?:[-*#>|]|\d+\.\s|```|~~~|$)/u.test(line)) end();
    if (block.length === 0) begins = at + 1;
    if (!code && !line.startsWith("```")) block.push(line.trim());
  }
  end();
  return found;
}

/** This page is generated from the program's own texts. */
const LEFT_OUT = "docs/commands.md";
const under = positionals.length > 0 ? positionals : ["src", "cli", "tui", "docs", "*.md"];
const files = execFileSync("git", ["ls-files", ...under], { encoding: "utf8" })
  .split("\n")
  .filter((file) => /\.(?:tsx?|md)$/u.test(file) && file !== LEFT_OUT);
const every = files.flatMap((file) => (file.endsWith(".md") ? ofPage(file) : ofProgram(file)));

/** Park and Miller's generator yields the same numbers on every machine. */
let state = (Number(values.seed) % 2_147_483_646) + 1;
const next = (): number => (state = (state * 48_271) % 2_147_483_647);

const drawn = [...every];
if (!values.all) {
  for (let at = drawn.length - 1; at > 0; at--) {
    const other = next() % (at + 1);
    [drawn[at], drawn[other]] = [drawn[other]!, drawn[at]!];
  }
  drawn.length = Math.min(drawn.length, Number(values.count));
}
for (const { place, text } of drawn) console.log(`${place}\n    ${text}`);
console.log(`${drawn.length} of ${every.length} strings`);
