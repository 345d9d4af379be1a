import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS, type CommandName } from "../../cli/commands.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { webhookd } from "../../cli/front/dispatch.ts";
import { version } from "../../src/build.ts";
import { CASES } from "./cases/cases.ts";
import { FakeIo } from "./fake-io.ts";
import { LOADED } from "./loaded.ts";

const NAMES = Object.keys(COMMANDS) as CommandName[];
interface Ran {
  code: number;
  io: FakeIo;
  /** The arguments with which a command ran, or null if none did. */
  ran: { name: string; args: unknown } | null;
}

async function type(...words: string[]): Promise<Ran> {
  const io = new FakeIo();
  let ran: Ran["ran"] = null;
  const code = await webhookd(words, io, async (name, args) => {
    ran = { name, args };
    return 0;
  });
  return { code, io, ran };
}

function expectRefusal({ code, io, ran }: Ran, message: string): void {
  expect(ran).toBeNull();
  expect(code).toBe(EXIT.usage);
  expect(io.out).toBe("");
  expect(io.err).toContain(message);
  expect(io.err).toContain("Nothing was done");
}

describe.each(NAMES)("%s", (name) => {
  const words = name.split(" ");
  const after = CASES[name].words;
  const taken = [...words, ...after];

  it("runs", async () => {
    const { code, io, ran } = await type(...taken);
    expect([code, io.out, io.err, ran?.name]).toEqual([0, "", "", name]);
  });

  it("refuses a flag it does not have, wherever it stands", async () => {
    expectRefusal(await type(...taken, "--nonsense"), `webhookd ${name} has no flag --nonsense`);
    expectRefusal(await type(...words, "--nonsense=1", ...after), `webhookd ${name} has no flag --nonsense`);
    expectRefusal(await type(...taken, "-x"), `webhookd ${name} has no flag -x`);
    expectRefusal(await type(...taken, "--constructor"), `webhookd ${name} has no flag --constructor`);
  });

  it("refuses an argument too many", async () => {
    if (Object.values<object>(LOADED[name].args).some((definition) => "variadic" in definition)) return;
    expectRefusal(await type(...taken, "more"), 'unexpected argument "more"');
    expectRefusal(await type(...taken, "--", "--more"), 'unexpected argument "--more"');
  });

  it("refuses flags without a value, with one too many, and twice", async () => {
    for (const [flag, definition] of Object.entries<{ type: string }>(LOADED[name].args)) {
      const rest = after.filter(
        (word, index, all) => ![word, all[index - 1]].some((one) => one?.startsWith(`--${flag}`)),
      );
      const line = [...words, ...rest.filter((word) => word !== `--no-${flag}`)];
      if (definition.type === "string") {
        expectRefusal(await type(...line, `--${flag}=`), `--${flag} needs a value`);
        if (!("bare" in definition)) {
          expectRefusal(await type(...line, `--${flag}`), `--${flag} needs a value`);
          expectRefusal(await type(...line, `--${flag}`, "--help-me"), `--${flag} needs a value`);
        }
        if ("multiple" in definition) continue;
        expectRefusal(await type(...line, `--${flag}`, "x", `--${flag}=x`), `--${flag} is given twice`);
      } else if (definition.type === "boolean") {
        expectRefusal(await type(...line, `--${flag}=maybe`), `--${flag} takes no value`);
        expectRefusal(await type(...line, `--${flag}`, `--${flag}`), `--${flag} is given twice`);
      }
    }
  });

  it("shows examples with --help and runs nothing, whatever else is typed", async () => {
    for (const line of [
      [...words, "--help"],
      [...words, "-h"],
      [...taken, "--nonsense", "--help"],
    ]) {
      const { code, io, ran } = await type(...line);
      expect([code, ran, io.err]).toEqual([0, null, ""]);
      expect(io.out).toContain(`webhookd ${name}`);
      for (const example of LOADED[name].examples) expect(io.out).toContain(example);
      expect(io.out).not.toContain("\x1b");
    }
  });

  it("has examples that it takes itself", async () => {
    for (const example of LOADED[name].examples) {
      const words = example.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ""));
      const { code, ran } = await type(...words.slice(1));
      expect([code, ran?.name]).toEqual([0, name]);
    }
  });

  it("has no flag that takes a secret, and none that --no- would spell twice", () => {
    expect(Object.keys(LOADED[name].args).filter((flag) => /^(key|token|secret|password)$|^no-/.test(flag))).toEqual(
      name === "keys revoke" ? ["key"] : [],
    );
  });
});

describe("the front", () => {
  it.each([
    [["frob"], 'webhookd has no command "frob"'],
    [["replya", "evt_1"], "Did you mean replay?"],
    [["keys", "crate"], "Did you mean create?"],
    [["endpoints", "create"], "Did you mean add?"],
    [["events", "publish"], "Did you mean send?"],
    [["endpoints", "revoke"], 'no command "revoke"\n  Nothing was done'],
    [["keys", "constructor", "--help"], 'webhookd keys has no command "constructor"'],
    [["constructor"], 'no command "constructor"'],
    [["__proto__"], 'no command "__proto__"'],
    [["toString", "--help"], 'no command "toString"'],
    [["--force", "replay", "evt_1"], "--force must come after a command"],
    [["--versio"], "--versio must come after a command"],
    [["replay", "--version", "evt_1"], "no flag --version"],
    [["keys", "--json"], "--json must come after a command"],
    [[""], 'no command ""'],
    [["\x1b[2J"], 'no command "<U+001B>[2J"'],
  ])("refuses %j", async (words, message) => {
    const ran = await type(...words);
    expect(ran.code).toBe(EXIT.usage);
    expect(ran.ran).toBeNull();
    expect(ran.io.out).toBe("");
    expect(ran.io.err).toContain(message);
  });

  it.each([
    ["serve", "--listn", "--listen"],
    ["replay evt_1", "--edpoint", "--endpoint"],
    ["replay evt_1", "--nowait", "--no-wait"],
    ["version", "--jsno", "--json"],
  ])("%s %s suggests %s", async (command, typed, meant) => {
    expectRefusal(await type(...command.split(" "), typed), `Did you mean ${meant}?`);
  });

  it.each([
    ["jobs show", "job_… is missing"],
    ["keys revoke", "key_… is missing"],
    ["keys create --name n", "--scope is missing"],
    ["keys create --scope read", "--name is missing"],
  ])("refuses %s: %s", async (line, message) => {
    expectRefusal(await type(...line.split(" ")), message);
  });

  it("gives a command its arguments, with defaults", async () => {
    expect((await type("replay", "evt_1", "--no-wait")).ran?.args).toMatchObject({
      events: ["evt_1"],
      wait: false,
      force: false,
    });
    const { ran: unsaid } = await type("replay", "--", "-evt");
    expect(unsaid?.args).toMatchObject({ events: ["-evt"] });
    expect(unsaid?.args).not.toHaveProperty("wait");
    const { ran } = await type("keys", "create", "--name=--dashes", "--scope", "read");
    expect(ran?.args).toEqual({ name: "--dashes", scope: "read", tenant: "default", json: false });
  });

  it("says its version to -v and --version, and shows help to -h", async () => {
    for (const flag of ["-v", "--version"]) expect((await type(flag)).ran).toMatchObject({ name: "version" });
    const { code, io } = await type("-h");
    expect([code, io.err]).toEqual([EXIT.ok, ""]);
    expect(io.out).toContain("USAGE");
  });

  it("lets a flag stand without the value that it has by itself", async () => {
    for (const [words, watch] of [
      [["--watch"], "2s"],
      [["--watch", "--json"], "2s"],
      [["--watch", "5s"], "5s"],
      [["--watch=1m"], "1m"],
      [[], undefined],
    ] as const) {
      expect((await type("status", ...words)).ran?.args, words.join(" ")).toMatchObject(
        watch === undefined ? { brief: false } : { watch },
      );
    }
    expect((await type("status")).ran?.args).not.toHaveProperty("watch");
  });

  it("without a command shows the commands on stderr", async () => {
    const all = await type();
    expect([all.code, all.io.out]).toEqual([EXIT.usage, ""]);
    for (const word of ["serve", "replay", "keys", "version"]) expect(all.io.err).toContain(word);
    const keys = await type("keys");
    expect([keys.code, keys.io.out]).toEqual([EXIT.usage, ""]);
    for (const word of ["create", "list", "revoke"]) expect(keys.io.err).toContain(word);
  });

  it("says errors as JSON on stderr with --json", async () => {
    const { code, io } = await type("keys", "revoke", "--json");
    expect([code, io.out]).toEqual([EXIT.usage, ""]);
    expect(JSON.parse(io.err)).toMatchObject({ error: { code: "usage", message: "key_… is missing" } });
  });

  it("calls anything unexpected a bug, with the stack only on demand", async () => {
    const oops = () => Promise.reject(new TypeError("oops\x1b[0m"));
    const io = new FakeIo();
    expect(await webhookd(["version"], io, oops)).toBe(EXIT.bug);
    expect(io.err).toMatch(/^webhookd: this is a bug in webhookd: oops<U\+001B>\[0m\n {2}Please/);
    expect(io.err).not.toContain(" at ");
    const curious = new FakeIo({ env: { WEBHOOKD_DEBUG: "1" } });
    await webhookd(["version"], curious, oops);
    expect(curious.err).toContain(" at ");
  });
});

it("the launcher runs from any folder on the pinned Node", () => {
  const launcher = join(import.meta.dirname, "../../scripts/webhookd");
  const run = (...words: string[]) => execFileSync(launcher, words, { cwd: tmpdir(), encoding: "utf8" });
  expect(run("--version")).toBe(`webhookd ${version}\n`);
  const told = JSON.parse(run("version", "--json")) as { node: string };
  expect(Number.parseInt(told.node, 10)).toBeGreaterThanOrEqual(24);
});
