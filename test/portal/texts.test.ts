/** Every text of the page is in the catalogue, and every language has all of them. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseSync } from "rolldown/utils";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/root.ts";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [name: string]: unknown;
}

const files = globSync("src/portal/**/*.{ts,tsx}", { cwd: root }).filter(
  // The daemon runs files.ts, and the folder has the catalogue itself.
  (file) => !file.startsWith("src/portal/language/") && basename(file) !== "files.ts",
);

/** Attributes that are classes, paths and the like, and not read by people. */
const SILENT = /^(?:className|href|d|id|key|role|rel|dir|viewBox|transform|points|type|style|preserveAspectRatio)$/;
/** Words of programs, which are the same in each language, and what only programmers read. */
const CODE = [
  /^POST $/,
  /^\(prefers-color-scheme: dark\)$/,
  /^[\w-]+: ?\(?$/,
  /^curl -sS -i $/,
  /^--data-binary $/,
  /^Bearer $/,
  /^webhookd portal link TENANT$/,
  /^application\/json, text\/plain$/,
  /^the server$/,
  /^a browser has no sockets$/,
  /^\[aria-invalid="true"\], \[role="alert"\]$/,
];
/** Two words, or one that begins like a sentence. */
const WORDS = /\p{L}{2,}[,.;:]? \p{L}|^\p{Lu}\p{Ll}+$/u;
/** Names of languages, of files, of keys and of headers. */
const NAMES =
  /^(?:Node|Python|Go|Java|Ruby|PHP|Enter|HMAC|Ed25519|X-[\w-]+|[a-z]+[A-Z]\w*|https:\/\/example\.com\/webhooks|customer\.country|whk_…|true|false)$/;

/** Returns the texts of a file that people would read, with their lines. */
function textsIn(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const found: string[] = [];
  const say = ({ start }: Node, text: string) => {
    if (CODE.some((one) => one.test(text)) || NAMES.test(text)) return;
    found.push(`${file}:${source.slice(0, start).split("\n").length} ${text.trim()}`);
  };
  const visit = (node: Node, isSilent: boolean): void => {
    if (node.type === "JSXText" && /\p{L}/u.test(String(node["value"]))) say(node, String(node["value"]));
    if (node.type === "ImportDeclaration" || /^TS(?:Template)?LiteralType$/.test(node.type) || isThrow(node)) return;
    const name = node.type === "JSXAttribute" ? (node["name"] as Node)["name"] : undefined;
    const value = node["value"] as Node | null;
    if (typeof name === "string" && !SILENT.test(name) && value?.type === "Literal" && READ.test(name)) {
      if (/\p{L}{2}/u.test(String(value["value"]))) say(value, String(value["value"]));
    }
    const isNowSilent = isSilent || (typeof name === "string" && SILENT.test(name));
    if (!isNowSilent && node.type === "Literal" && typeof node["value"] === "string" && WORDS.test(node["value"])) {
      say(node, node["value"]);
    }
    if (!isNowSilent && node.type === "TemplateElement") {
      const { cooked } = node["value"] as unknown as { readonly cooked: string };
      if (WORDS.test(cooked)) say(node, cooked);
    }
    for (const child of childrenOf(node)) visit(child, isNowSilent);
  };
  visit(parseSync(file, source).program as unknown as Node, false);
  return found;
}

/** Attributes whose text is read, whatever it is. */
const READ = /^(?:aria-label|label|title|placeholder|help|alt|word|what)$/;

/** The text of an exception is for programmers. */
function isThrow({ type }: Node): boolean {
  return type === "ThrowStatement";
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((one): one is Node => typeof one === "object" && one !== null && typeof (one as Node).type === "string");
}

/** Returns the calls of `t` and `rich` that run when the file is loaded, before the language is known. */
function earlyIn(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (/Function/.test(node.type)) return;
    const callee = node.type === "CallExpression" ? (node["callee"] as Node) : undefined;
    if (callee !== undefined && /^(?:t|rich)$/.test(String(callee["name"]))) found.push(`${file} ${node.start}`);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSync(file, source).program as unknown as Node);
  return found;
}

describe("a file of the page", () => {
  it("has no text of its own", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(files.flatMap(textsIn)).toEqual([]);
  });

  it("asks for no text before the language is known", () => {
    expect(files.flatMap(earlyIn)).toEqual([]);
  });
});
