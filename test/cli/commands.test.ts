/**
 * Every command in every situation: its exit code, its output and the operations that it calls. The rows are in
 * `cases/`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { COMMANDS, GROUPS, type CommandName } from "../../cli/commands.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { flagsOf } from "../../cli/front/parse.ts";
import { OPERATIONS, type OperationName } from "../../src/client/operations.ts";
import type { Case, CaseElsewhere } from "./cases/case.ts";
import { CASES } from "./cases/cases.ts";
import { describedDaemon, refusalsOf, type Answering } from "./described-daemon.ts";
import type { Seen } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";
import { LOADED } from "./loaded.ts";

const NAMES = Object.keys(COMMANDS) as CommandName[];
const HERE = NAMES.filter((name) => !isElsewhere(CASES[name]));

function isElsewhere(row: Case | CaseElsewhere): row is CaseElsewhere {
  return "testedIn" in row;
}

interface Situation extends Answering {
  /** Replaces the row's words. */
  readonly words?: readonly string[];
  /** Words added after all others. */
  readonly more?: readonly string[];
  /** The way in which the command line names the daemon. */
  readonly target?: "socket" | "key" | "nobody";
  readonly isTTY?: boolean;
  readonly input?: readonly string[];
}

/** Runs the row of a command with its own directory and daemon. */
async function run(name: CommandName, { target = "socket", more = [], ...situation }: Situation = {}) {
  const row = CASES[name] as Case;
  const daemon = await describedDaemon({ answers: row.answers ?? {}, ...situation });
  const within = (text: string) => text.replaceAll("{dir}", daemon.dir);
  for (const [file, text] of Object.entries(row.files ?? {})) writeFileSync(join(daemon.dir, file), within(text));
  const keyFile = join(daemon.dir, "wrong.key");
  writeFileSync(keyFile, "whk_wrong\n");
  const nowhere = join(daemon.dir, "no.sock");
  const targets = { socket: [daemon.socket], key: [], nobody: [nowhere] }[target].map((path) => `--socket=${path}`);
  if (target === "key") targets.push(`--url=${daemon.url}`, `--key-file=${keyFile}`);
  const asksSomebody = Object.hasOwn(LOADED[name].args, "socket") && Object.hasOwn(LOADED[name].args, "url");
  const io = new FakeIo({
    machine: {
      cwd: daemon.dir,
      readFile: (path) => (existsSync(path) ? readFileSync(path, "utf8") : null),
      exists: (path) => path.startsWith(daemon.dir) && existsSync(path),
    },
    input: situation.input ?? row.input ?? [],
    ...(situation.isTTY && { isTTY: true, columns: 10_000 }),
  });
  const words = (situation.words ?? row.words).map(within);
  const line = [...name.split(" "), ...words, ...(asksSomebody ? targets : []), ...more.map(within)];
  const code = await webhookd(io, ...line);
  const pattern = (regex: RegExp) => new RegExp(regex.source.replaceAll("{dir}", daemon.dir), regex.flags);
  return { code, out: io.out, err: io.err, io, row, daemon, keyFile, nowhere, within, pattern };
}

/** A PUT by name adds an object that does not exist. */
const namesOne = (operation: OperationName) =>
  OPERATIONS[operation].includes("{id}") && refusalsOf(operation, 404).length > 0;

const once = (operations: readonly OperationName[]) => [...new Set(operations)];

async function expectUsageError(name: CommandName, situation: Situation): Promise<string> {
  const { code, out, err, daemon } = await run(name, situation);
  expect(err).not.toBe("");
  expect({ code, out, seen: daemon.seen }).toEqual({ code: EXIT.usage, out: "", seen: [] });
  return err;
}

it("the table has a row for each command, and no other", () => {
  expect(Object.keys(CASES).sort()).toEqual([...NAMES].sort());
});

it.each(NAMES.filter((name) => !HERE.includes(name)))("%s is tested in a file that is there", (name) => {
  const { testedIn } = CASES[name] as CaseElsewhere;
  expect(existsSync(resolve(import.meta.dirname, "../..", testedIn))).toBe(true);
});

it("no word of a command is something that every object has", () => {
  const words = [...NAMES, ...Object.keys(GROUPS)].flatMap((name) => name.split(" "));
  expect(words.filter((word) => word in Object.prototype)).toEqual([]);
  expect(NAMES.flatMap((name) => Object.keys(LOADED[name].args)).filter((flag) => flag in {})).toEqual([]);
});

describe.each(HERE)("webhookd %s", (name) => {
  const row = CASES[name] as Case;
  const ok = row.exit ?? EXIT.ok;

  it("does what it says, in a pipe", async () => {
    const { code, out, err, daemon, pattern } = await run(name);
    expect({ code, err }).toEqual({ code: ok, err: expect.stringMatching(pattern(row.err ?? /^$/)) });
    expect(out).toMatch(pattern(row.out));
    expect(once(daemon.asked())).toEqual(row.asks);
  });

  it.skipIf(row.ownTerminal)("says the same on a terminal", async () => {
    const piped = await run(name);
    const shown = await run(name, { isTTY: true });
    const plain = stripVTControlCharacters(shown.out).replaceAll(shown.daemon.dir, piped.daemon.dir);
    expect({ code: shown.code, out: plain }).toEqual({ code: ok, out: piped.out });
    expect(shown.daemon.asked()).toEqual(piped.daemon.asked());
  });

  it.skipIf(!Object.hasOwn(LOADED[name].args, "json"))("answers --json in ASCII, and nothing else", async () => {
    const { code, out, within } = await run(name, { more: ["--json"] });
    expect(code).toBe(ok);
    expect(out).toMatch(/^[\n\x20-\x7e]+\n$/);
    const documents = out.trimEnd().split("\n");
    const parsed = documents.map((line) => JSON.parse(line) as unknown);
    if (row.json === "lines") return;
    expect(parsed).toHaveLength(1);
    if (row.json !== undefined) expect(parsed[0]).toMatchObject(expected(row.json, within) as object);
  });

  it("refuses a flag it does not have, wherever it stands", async () => {
    const said = `webhookd ${name} has no flag --nonsense`;
    expect(await expectUsageError(name, { more: ["--nonsense"] })).toContain(said);
    expect(await expectUsageError(name, { words: ["--nonsense=1", ...row.words] })).toContain(said);
    expect(await expectUsageError(name, { more: ["--constructor"] })).toContain("has no flag --constructor");
  });

  it("refuses a flag without its value", async () => {
    for (const { spelling, definition } of flagsOf(LOADED[name].args)) {
      if (definition.type === "boolean" || "bare" in definition) continue;
      const rest = without(row.words, spelling);
      expect(await expectUsageError(name, { words: rest, more: [spelling] })).toContain(`${spelling} needs a value`);
    }
  });

  it("refuses an argument too many", async () => {
    const definitions = Object.values(LOADED[name].args) as { variadic?: boolean }[];
    if (definitions.some(({ variadic }) => variadic === true)) return;
    const positionals = Object.values<{ type: string }>(LOADED[name].args).filter(({ type }) => type === "positional");
    const more = Array.from({ length: positionals.length + 1 }, () => "more");
    expect(await expectUsageError(name, { more })).toContain('unexpected argument "more"');
  });

  it("names all its flags in its help", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, ...name.split(" "), "--help")).toBe(EXIT.ok);
    for (const { spelling } of flagsOf(LOADED[name].args)) expect(io.out).toContain(spelling);
  });

  if (row.confirmedBy !== undefined) confirmation(name, row, row.confirmedBy);
  if (row.asks.length === 0) return;

  it("exits 5 when there is no daemon, and names where it looked", async () => {
    const { code, out, err, nowhere } = await run(name, { target: "nobody" });
    expect({ code, out }).toEqual({ code: EXIT.unreachable, out: "" });
    expect(err).toContain(nowhere);
  });

  it("exits 4 when the key is wrong, and names its file but not the key", async () => {
    const { code, out, err, keyFile } = await run(name, { target: "key", refuse: () => ({ status: 401 }) });
    expect({ code, out }).toEqual({ code: EXIT.not_allowed, out: "" });
    expect(err).toContain(keyFile);
    expect(err).not.toContain("whk_wrong");
  });

  const needed = row.asks.filter((operation) => !row.spares?.includes(operation));
  it.each(needed.filter(namesOne))("exits 3 when %s finds nothing", async (operation) => {
    const refuse = (asked: OperationName) => (asked === operation ? { status: 404 } : undefined);
    const { code, out, err } = await run(name, { refuse });
    expect({ code, out }).toEqual({ code: EXIT.not_found, out: "" });
    const [, noun, list] =
      /^webhookd: there is no (?:event )?(\w+) \S+ at .+\n {2}.*: webhookd (\w+ (?:list|status))\b/m.exec(err)!;
    expect(Object.keys(COMMANDS)).toContain(list);
    expect(list!.startsWith(noun!.slice(0, -1))).toBe(true);
  });

  it.each(row.spares ?? [])("does without what %s would say", async (spared) => {
    const { code } = await run(name, { refuse: (asked) => (asked === spared ? { status: 401 } : undefined) });
    expect(code).toBe(ok);
  });

  const conflicts = needed.flatMap((operation) => refusalsOf(operation, 409).map((code) => ({ operation, code })));
  it.each(conflicts)("exits 6 when $operation is refused with $code, and says what to type", async (conflict) => {
    const refuse = (asked: OperationName) =>
      asked === conflict.operation ? { status: 409, code: conflict.code } : undefined;
    const { code, out, err } = await run(name, { refuse });
    expect({ code, out }).toEqual({ code: EXIT.conflict, out: "" });
    expect(err).toMatch(/^webhookd: .+\n {2}./m);
    const machine = await run(name, { refuse, more: ["--json"] });
    expect({ code: machine.code, out: machine.out }).toEqual({ code: EXIT.conflict, out: "" });
    expect(JSON.parse(machine.err.trimEnd().split("\n").at(-1)!)).toMatchObject({ error: { code: conflict.code } });
  });
});

function confirmation(name: CommandName, row: Case, typed: string): void {
  const words = row.words.filter((word) => word !== "--yes");
  const unsafe = (operations: readonly OperationName[]) =>
    operations.filter((operation) => !OPERATIONS[operation].startsWith("GET "));

  it("needs --yes where nobody can be asked", async () => {
    expect(row.words).toContain("--yes");
    expect(await expectUsageError(name, { words })).toContain("--yes");
  });

  it("asks on a terminal, and does it when the answer is right", async () => {
    const { code, io, daemon } = await run(name, { words, isTTY: true, input: [typed] });
    expect({ code, asked: io.asked.length, did: unsafe(once(daemon.asked())) }).toEqual({
      code: row.exit ?? EXIT.ok,
      asked: 1,
      did: unsafe(row.asks),
    });
  });

  it.each([["no"], [""], []])("does nothing when the answer is %j", async (...input) => {
    const { code, out, daemon } = await run(name, { words, isTTY: true, input });
    const isTrial = ({ path, body }: Seen) =>
      (body as { dry_run?: true })?.dry_run === true || path.includes("dry_run=true");
    const did = daemon.asked().filter((_, at) => !isTrial(daemon.seen[at]!));
    expect({ code, out, did: unsafe(did) }).toEqual({ code: EXIT.refused, out: "", did: [] });
  });
}

function without(words: readonly string[], flag: string): string[] {
  return words.filter((word, index) => word !== flag && !word.startsWith(`${flag}=`) && words[index - 1] !== flag);
}

/** Replaces `{dir}`, and turns patterns into matchers. */
function expected(value: unknown, within: (text: string) => string): unknown {
  if (typeof value === "string") return within(value);
  if (value instanceof RegExp) return expect.stringMatching(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => expected(item, within));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expected(item, within)]));
}
