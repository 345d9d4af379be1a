/** The help that people read first: the overview, and each command's page. */
import { describe, expect, it } from "vitest";
import { COMMANDS, FIRST_RUN, GROUPS, PURPOSES, type CommandName } from "../../cli/commands.ts";
import { fold } from "../../cli/front/fold.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";
import { LOADED } from "./loaded.ts";

const NAMES = Object.keys(COMMANDS) as CommandName[];

async function shown(line: string, columns?: number): Promise<string> {
  const io = new FakeIo(columns === undefined ? {} : { isTTY: true, columns, env: { NO_COLOR: "1" } });
  expect(await webhookd(io, ...line.split(" ").filter(Boolean), "--help")).toBe(0);
  return io.out;
}

describe("the overview", () => {
  it("has each command or its group once, under what it is for", async () => {
    const words = NAMES.map((name) => name.split(" ")[0]!);
    expect(PURPOSES.flatMap((purpose) => purpose.words).sort()).toEqual([...new Set(words)].sort());
    const text = await shown("");
    for (const word of words) expect(text.match(new RegExp(`^  ${word} +\\S`, "gm")), word).toHaveLength(1);
  });

  it("ends with the three commands of a first run, each of which there is", async () => {
    const text = await shown("");
    expect(text.trimEnd().split("\n").slice(-5, -2)).toEqual(FIRST_RUN.map((line) => `  ${line}`));
    for (const line of FIRST_RUN) await shown(line.replace("webhookd ", ""));
  });

  it.each([60, 80, 200])("is no wider than a terminal of %i columns", async (columns) => {
    for (const line of ["", ...Object.keys(GROUPS)]) {
      for (const row of (await shown(line, columns)).split("\n")) expect(row.length, row).toBeLessThanOrEqual(columns);
    }
  });
});

describe.each(NAMES)("the page of %s", (name) => {
  it("has its flags in the columns of a terminal of 80", async () => {
    const [, flags = ""] = /OPTIONS\n\n([^]*?)\n\n/.exec(await shown(name, 80))!;
    for (const row of flags.split("\n")) expect(row.length, row).toBeLessThanOrEqual(80);
  });

  it("calls an argument required where it is refused without one, and nowhere else", async () => {
    const text = await shown(name);
    for (const [key, arg] of Object.entries<{ type: string; required?: boolean }>(LOADED[name].args)) {
      if (arg.type !== "positional") continue;
      const word = key.toUpperCase();
      expect(text).toContain(arg.required ? `<${word}>` : `[${word}]`);
      const [line] = new RegExp(`^ +${word}=(?:.*\n)(?: {8,}.*\n)*`, "m").exec(text)!;
      expect(line.includes("(Required)")).toBe(arg.required ?? false);
    }
  });
});

it.each([
  ["help", ""],
  ["help replay", "replay"],
  ["help keys create", "keys create"],
])("webhookd %s shows what webhookd %s --help does", async (line, words) => {
  const io = new FakeIo();
  expect(await webhookd(io, ...line.split(" "))).toBe(0);
  expect(io.out).toBe(await shown(words));
});

describe("folding", () => {
  it("keeps the second column in its place, and its colours out of the count", () => {
    expect(fold("  \x1b[36mone\x1b[39m  of us all is not here for long   ", 33)).toBe(
      "  \x1b[36mone\x1b[39m  of us all is not here for\n       long",
    );
  });

  it("leaves a line alone that has one column, or whose first leaves no room", () => {
    const line = "  webhookd replay --status failed --since 2h";
    expect(fold(line, 20)).toBe(line);
    const wide = `  ${"x".repeat(20)}  some words`;
    expect(fold(wide, 30)).toBe(wide);
  });
});
