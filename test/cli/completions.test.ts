import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { GROUPS } from "../../cli/commands.ts";
import { complete } from "../../cli/completions/complete.ts";
import { commandsTyped, SHELLS, type Shell } from "../../cli/completions/grammar.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { flagsOf } from "../../cli/front/parse.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { LOADED } from "./loaded.ts";
import { webhookd } from "./runs.ts";

async function scriptOf(shell: Shell): Promise<string> {
  const io = new FakeIo();
  expect(await webhookd(io, "completions", shell)).toBe(EXIT.ok);
  return io.out;
}

/** Writes the script to a file, beside a `webhookd` that knows two ids. */
async function installed(shell: Shell) {
  const dir = aDirectory();
  const file = join(dir, `completions.${shell}`);
  writeFileSync(file, await scriptOf(shell));
  const program = join(dir, "webhookd");
  writeFileSync(
    program,
    `#!/bin/sh\nprintf '%s' "$*" > ${dir}/asked\nprintf 'ep_one\\thttps://a\\nep_two\\thttps://b\\n'\n`,
  );
  chmodSync(program, 0o755);
  return { dir, file, env: { ...process.env, PATH: `${dir}${delimiter}${process.env.PATH}` } };
}

const present = (shell: Shell) => spawnSync(shell, ["--version"]).error === undefined;
for (const shell of SHELLS)
  if (!present(shell)) console.warn(`SKIPPED: there is no ${shell} to run its completions in`);

describe.each(SHELLS)("the completions for %s", (shell) => {
  it("hold every command and every flag", async () => {
    const script = await scriptOf(shell);
    for (const [name, { args }] of Object.entries(LOADED)) {
      const [first, verb] = name.split(" ");
      expect(script, name).toMatch(new RegExp(`\\b${first}\\b`));
      if (verb !== undefined) expect(script, name).toContain(verb);
      const lines = script.split("\n");
      for (const { spelling } of flagsOf(args)) {
        const found =
          shell === "fish"
            ? lines.some((line) => line.includes(`'__webhookd_at ${name}'`) && line.includes(` ${fishFlag(spelling)} `))
            : lines.some((line) => new RegExp(`^ *["']${name}["']\\).*[ "'(]${spelling}[ "':]`).test(line));
        expect(found, `${name} ${spelling}`).toBe(true);
      }
    }
    for (const group of Object.keys(GROUPS)) expect(script).toContain(group);
  });

  it.skipIf(!present(shell))("are a script that the shell takes", async () => {
    const { file } = await installed(shell);
    expect(spawnSync(shell, ["-n", file], { encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });
});

function fishFlag(spelling: string): string {
  return spelling.startsWith("--") ? `-l ${spelling.slice(2)}` : `-s ${spelling.slice(1)}`;
}

describe("in bash", () => {
  async function typed(...words: string[]) {
    const { dir, file, env } = await installed("bash");
    const line = ["webhookd", ...words];
    const program = `source ${file}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _webhookd; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const said = execFileSync("bash", ["-c", program, "bash", ...line], { encoding: "utf8", env, cwd: dir });
    return { dir, words: said.split("\n").filter((word) => word !== "") };
  }

  it("the first word is a command or a group", async () => {
    expect((await typed("")).words).toEqual(expect.arrayContaining(["serve", "config", "replay", "--help"]));
    expect((await typed("re")).words).toEqual(expect.arrayContaining(["replay", "resume"]));
    expect((await typed("__")).words).toEqual([]);
  });

  it("a group is followed by its verbs", async () => {
    expect((await typed("config", "")).words).toEqual(["init", "check", "show"]);
    expect((await typed("keys", "cr")).words).toEqual(["create"]);
  });

  it("a dash asks for flags, and a choice for its words", async () => {
    expect((await typed("config", "init", "--f")).words).toEqual(["--force"]);
    expect((await typed("serve", "--no-cr")).words).toEqual(["--no-create"]);
    expect((await typed("keys", "list", "--order", "o")).words).toEqual(["oldest"]);
    expect((await typed("keys", "list", "--order", "=", "")).words).toEqual(["newest", "oldest"]);
    expect((await typed("completions", "")).words).toEqual(["bash", "zsh", "fish"]);
  });

  it("an id is asked of the daemon, with all that was typed", async () => {
    const { dir, words } = await typed("doctor", "--endpoint", "ep_t");
    expect(words).toEqual(["ep_two"]);
    expect(execFileSync("cat", [join(dir, "asked")], { encoding: "utf8" })).toBe("__complete doctor --endpoint ep_t");
  });

  it("a command without arguments asks nobody", async () => {
    const { dir, words } = await typed("resume", "");
    expect([words, existsSync(join(dir, "asked"))]).toEqual([[], false]);
  });
});

describe.skipIf(!present("fish"))("in fish", () => {
  it("commands, flags, words and ids are completed", async () => {
    const { file, env, dir } = await installed("fish");
    const ask = (line: string) =>
      execFileSync("fish", ["--no-config", "-c", `source ${file}; complete -C '${line}'`], {
        encoding: "utf8",
        env: { ...env, HOME: dir },
      })
        .split("\n")
        .map((one) => one.split("\t")[0]);
    expect(ask("webhookd conf")).toContain("config");
    expect(ask("webhookd config ")).toEqual(expect.arrayContaining(["init", "check", "show"]));
    expect(ask("webhookd config init --f")).toContain("--force");
    expect(ask("webhookd keys list --order ")).toEqual(expect.arrayContaining(["newest", "oldest"]));
    expect(ask("webhookd doctor --endpoint ")).toEqual(expect.arrayContaining(["ep_one", "ep_two"]));
  });
});

describe("__complete", () => {
  /** Long enough for a slow machine. */
  const PATIENCE_MS = 30_000;

  const silent = { code: EXIT.ok, out: "", err: "" };

  async function asked(words: string[], cutOffMs = PATIENCE_MS) {
    const io = new FakeIo();
    const code = await complete(words, io, cutOffMs);
    return { code, out: io.out, err: io.err };
  }

  it("lists ids with descriptions, from the daemon that the command line names", async () => {
    const daemon = await TestDaemon.start();
    const socket = join(daemon.dir, "webhookd.sock");
    const { id } = await daemon.register("http://127.0.0.1:4000/");
    const event = await daemon.publish();
    expect(await asked(["doctor", "--socket", socket, "--endpoint", ""])).toEqual({
      code: EXIT.ok,
      out: `${id}\thttp://127.0.0.1:4000/\n`,
      err: "",
    });
    expect((await asked(["events", "show", "--socket", socket, "--json", ""])).out).toMatch(
      `${event}\tbudget.exceeded `,
    );
    expect((await asked(["events", "list", "--socket", socket, "--type", ""])).out).toContain("goal.achieved\t");
    expect((await asked(["replay", "--socket", socket, "--json", ""])).out).toBe("");
  });

  it("is silent when there is no daemon, when it refuses, and when there is nothing to ask", async () => {
    const refusing = await fakeDaemon(() => problem(403, "forbidden", "no"));
    expect(await asked(["doctor", "--socket", "/nowhere", "--endpoint", ""])).toEqual(silent);
    expect(await asked(["doctor", "--socket", refusing.socket, "--endpoint", ""])).toEqual(silent);
    expect(await asked(["nonsense", ""])).toEqual(silent);
    expect(await asked(["resume", ""])).toEqual(silent);
    expect(await asked([])).toEqual(silent);
  });

  it("gives up on a daemon that does not answer in time", async () => {
    const hanging = await TestReceiver.start(["hang"]);
    try {
      expect(await asked(["doctor", "--url", hanging.url, "--endpoint", ""], 20)).toEqual(silent);
    } finally {
      await hanging.close();
    }
  });

  it("is a command that no help mentions", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "__complete", "resume", "")).toBe(EXIT.ok);
    expect([io.out, io.err]).toEqual(["", ""]);
  });

  it("knows of each kind of id that a command takes", async () => {
    const hints = (await commandsTyped()).flatMap(({ flags, argument }) => [
      argument,
      ...flags.map(({ takes }) => takes),
    ]);
    expect(hints.filter((takes) => takes?.kind === "ids").length).toBeGreaterThan(8);
  });
});
