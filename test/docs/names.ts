/**
 * Every name and text that a user meets, read from the code that makes it. The glossary's test compares them with the
 * glossary.
 */
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import Database from "better-sqlite3";
import { COMMANDS, GROUPS, type CommandName } from "../../cli/commands.ts";
import { SETTINGS } from "../../src/config/schema.ts";
import { attemptFields } from "../../src/domain/deliveries/delivery.ts";
import { plainSuccess } from "../../src/domain/deliveries/attempt.ts";
import type { EndedAttempt } from "../../src/store/store.ts";
import { BINDINGS } from "../../tui/keys/table.ts";
import { TABS } from "../../tui/model/list.ts";
import { LOADED } from "../cli/loaded.ts";

/** Names by place, as a line of the glossary gives it in bold. */
export type Names = Readonly<Record<string, ReadonlySet<string>>>;

const sources = (folders: string) => globSync(`${folders}/**/*.{ts,tsx}`).map((file) => readFileSync(file, "utf8"));
const found = (texts: readonly string[], pattern: RegExp) =>
  new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!)));

const description = JSON.parse(readFileSync("docs/openapi.json", "utf8")) as { readonly paths: object };

export async function allNames(): Promise<Names> {
  return {
    table: await tables(),
    HTTP: new Set([...Object.keys(description.paths), ...words(description)]),
    type: found(sources("src/{domain,store,api}"), /^export (?:interface|type|class) (\w+)/gm),
    command: new Set([
      ...Object.keys(COMMANDS),
      ...Object.keys(GROUPS),
      ...Object.values(LOADED).flatMap(({ args }) => Object.keys(args).map((key) => `--${key}`)),
    ]),
    dashboard: new Set(TABS.map((tab) => tab[0]!.toUpperCase() + tab.slice(1))),
    log: new Set([...attemptLine(), ...logCalls().flatMap(({ fields, message }) => [...fields, message])]),
    metric: found(sources("src/metrics"), /"(webhookd_\w+|target_info)"/g),
    setting: new Set(SETTINGS.map(({ section, key }) => `${section}.${key}`)),
  };
}

/** Texts that users read, by their source. */
export function allTexts(): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const page of ["README.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ...globSync("docs/**/*.md")]) {
    if (page !== "docs/glossary.md") texts.set(page, readFileSync(page, "utf8"));
  }
  texts.set("config.example.toml", readFileSync("config.example.toml", "utf8"));
  texts.set("docs/openapi.json", [...words(description, ["summary", "description", "title"])].join("\n"));
  for (const [name, { summary }] of Object.entries(COMMANDS)) {
    const flags = Object.values(LOADED[name as CommandName].args).map((arg) => arg.description);
    texts.set(`webhookd ${name}`, [summary, ...flags].join("\n"));
  }
  for (const { show, label, help } of BINDINGS) texts.set(`the dashboard's ${show}`, `${label}\n${help ?? ""}`);
  texts.set(
    "the log",
    logCalls()
      .map(({ message }) => message)
      .join("\n"),
  );
  const helps = found(sources("src/metrics"), /(?:help: |gauge\(\s*"\w+",\s*)[`"]([^`"]+)/g);
  texts.set("/metrics", [...helps].join("\n"));
  return texts;
}

/** Runs the schema instead of parsing it, because a later step may drop a table. */
async function tables(): Promise<Set<string>> {
  const [file] = globSync("src/store/**/schema.ts").filter((at) => readFileSync(at, "utf8").includes("MIGRATIONS"));
  const { MIGRATIONS } = (await import(/* @vite-ignore */ resolve(file!))) as {
    MIGRATIONS: readonly { readonly sql: string }[];
  };
  const db = new Database(":memory:");
  for (const { sql } of MIGRATIONS) db.exec(sql);
  const list = db.prepare<[], { readonly name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const names = new Set<string>();
  for (const { name } of list) {
    names.add(name);
    for (const column of db.pragma(`table_info(${name})`) as { readonly name: string }[])
      names.add(`${name}.${column.name}`);
  }
  db.close();
  return names;
}

/**
 * Yields the words of a description. Without `keys` these are operation ids, names of fields and parameters, and values
 * of enums.
 */
function* words(node: unknown, keys?: readonly string[]): Generator<string> {
  if (typeof node !== "object" || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (keys !== undefined) {
      if (keys.includes(key) && typeof value === "string") yield value;
    } else if (key === "properties" && typeof value === "object") yield* Object.keys(value as object);
    else if (["operationId", "name", "const"].includes(key) && typeof value === "string") yield value;
    else if (key === "enum") yield* (value as readonly unknown[]).filter((one) => typeof one === "string");
    yield* words(value, keys);
  }
}

/** Returns the fields of the only log line that is built elsewhere. */
function attemptLine(): string[] {
  const ended = { claim: {}, outcome: plainSuccess(200, 1, {}), verdict: { status: "delivered" } };
  return Object.keys(attemptFields(ended as unknown as EndedAttempt, null));
}

interface LogCall {
  readonly fields: readonly string[];
  readonly message: string;
}

/** Finds calls of a log in the source, such as `log.warn({ endpoint, reason }, "endpoint.disabled")`. */
function logCalls(): LogCall[] {
  const calls: LogCall[] = [];
  for (const text of sources("{src,cli}")) {
    for (const match of text.matchAll(/\blog(?:\.\w+|\[\w+\])\(/gi)) {
      const call = inside(text, match.index + match[0].length);
      const [, object = ""] = /^\s*\{([^]*)\}/.exec(call) ?? [];
      const fields = [...object.matchAll(/(?:^|[{,]\s*|\s)(\w+)(?=:|,|\s*$)/g)].map(([, name]) => name!);
      calls.push({ fields, message: [...call.matchAll(/[`"]([^`"]+)[`"]/g)].at(-1)?.[1] ?? "" });
    }
  }
  return calls;
}

/** Returns the text between parentheses, of which the first is already open. */
function inside(text: string, from: number): string {
  let depth = 1;
  let at = from;
  for (; depth > 0 && at < text.length; at++) depth += text[at] === "(" ? 1 : text[at] === ")" ? -1 : 0;
  return text.slice(from, at - 1);
}
