/** Every command that the program's messages suggest exists, and every operation that it calls does too. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { COMMANDS, GROUPS, type CommandName } from "../../cli/commands.ts";
import { flagsOf } from "../../cli/front/parse.ts";
import { OPERATIONS } from "../../src/client/operations.ts";
import { COMMANDS as COMMANDS_OF_ADVICE } from "../../src/domain/advice/by-error.ts";
import { FakeIo } from "./fake-io.ts";
import { LOADED } from "./loaded.ts";
import { webhookd } from "./runs.ts";
import { typed } from "./typed.ts";

const ROOT = join(import.meta.dirname, "../..");

const SOURCES = ["cli", "tui", "src"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ file: `${folder}/${name}`, text: readFileSync(join(ROOT, folder, name), "utf8") })),
);

/**
 * A suggested command begins after a backtick or a colon and reaches to the end of the text. Values that are filled in
 * count as one word.
 */
const ADVICE = /(?:`|: )webhookd ([^`"\n]*)/g;

const advice = SOURCES.flatMap(({ file, text }) =>
  [...text.replaceAll(/\$\{[^}]*\}/g, "X").matchAll(ADVICE)].map(([, line]) => ({ file, line: line!.trim() })),
).filter(({ line }) => /^(?!needs )[a-z]/.test(line));

it("there is advice", () => {
  expect(advice.length).toBeGreaterThan(30);
});

it.each(advice)("$file: webhookd $line", ({ line }) => {
  const words = line.split(/[ ,.;)]+/);
  const name = [words.slice(0, 2).join(" "), words[0]!].find((words) => Object.hasOwn(COMMANDS, words));
  if (name === undefined) {
    expect(Object.keys(GROUPS)).toContain(words[0]);
    return;
  }
  const { args } = LOADED[name as CommandName];
  const known = ["--help", ...flagsOf(args).map(({ spelling }) => spelling)];
  for (const word of words.filter((word) => word.startsWith("--"))) {
    expect(known, `${name} ${word}`).toContain(word.split("=")[0]);
  }
});

it("every operation that a command names is one of the daemon's", () => {
  const CALL = /(?:\.(?:call|text|every)\(|operation: )\s*"(\w+)"/g;
  const named = SOURCES.filter(({ file }) => file.startsWith("cli/")).flatMap(({ text }) =>
    [...text.matchAll(CALL)].map(([, operation]) => operation!),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((operation) => !Object.hasOwn(OPERATIONS, operation))).toEqual([]);
});

it.each(Object.keys(COMMANDS_OF_ADVICE) as (keyof typeof COMMANDS_OF_ADVICE)[])(
  "the commands suggested for %s exist",
  async (key) => {
    const [, line] = COMMANDS_OF_ADVICE[key];
    const [program, ...words] = line({
      endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
      attempt: "att_06fbqxw6w0a1b2c3d4e5f6g7h8",
    }).split(" ");
    expect(program).toBe("webhookd");
    const typedWords = words.map((word) => word.replace("…", "hooks.northwind.example/in"));
    const { code, err } = words[0] === "config" ? await alone(typedWords) : await typed(typedWords);
    expect(code, err).not.toBe(EXIT.usage);
  },
);

/** Runs a command that calls no daemon. */
async function alone(words: readonly string[]) {
  const io = new FakeIo();
  return { code: await webhookd(io, ...words), err: io.err };
}
