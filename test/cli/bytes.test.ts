/** Bytes that are not UTF-8, in every input of a command line. None may be replaced by U+FFFD and then used. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { processInputs } from "../../src/config/inputs.ts";
import { judgePassphrase, readPassphrase } from "../../src/passphrase.ts";
import { fakeDaemon } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const MAIN = join(import.meta.dirname, "../../cli/main.ts");
const LATIN1 = Buffer.from("caf\xe9", "latin1");

const home = mkdtempSync(join(tmpdir(), "webhookd-bytes-"));
afterAll(() => rmSync(home, { recursive: true }));

function file(name: string, bytes: Uint8Array): string {
  const path = join(home, name);
  writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}

describe("a passphrase", () => {
  it.each([
    ["in Latin-1", Buffer.from("A\x81B\x82C\x83D\x84E\x85F\x86G\x87H\x88", "latin1"), 1],
    ["of random bytes", Buffer.from(Array.from({ length: 32 }, (_, at) => 0x80 + at)), 1],
    ["in UTF-16", Buffer.from("\ufeffcorrect horse battery", "utf16le"), 1],
  ])("%s seals and opens nothing: two of them would be the same text", (_, bytes, line) => {
    expect(judgePassphrase(bytes)).toEqual({ refused: expect.stringContaining("is not UTF-8") });
    const path = file("passphrase", bytes);
    expect(readPassphrase(path)).toEqual({ refused: expect.stringMatching(`^:${line}: is not UTF-8`) });
  });

  it("may have any characters of UTF-8, with a line end after it", () => {
    const passphrase = "\u00fcber die br\u00fccke \ufffd";
    for (const end of ["", "\n", "\r\n"]) {
      expect(readPassphrase(file("passphrase", Buffer.from(passphrase + end)))).toEqual({ passphrase });
    }
  });

  it.each([
    ["--seal-with -", ["--seal-with", "-"], "the passphrase given:1: is not UTF-8"],
    ["--seal-with FILE", ["--seal-with", "FILE"], "passphrase:1: is not UTF-8"],
  ])("of %s is refused by name and line", async (_, words, message) => {
    const daemon = await fakeDaemon(() => ({ status: 500 }));
    const bytes = Buffer.concat([LATIN1, Buffer.from(" correct horse")]);
    const path = file("passphrase", bytes);
    const io = new FakeIo({ bytes });
    const typed = words.map((word) => (word === "FILE" ? path : word));
    expect(await webhookd(io, "backup", ...typed, "--socket", daemon.socket)).toBe(EXIT.usage);
    expect(io.err).toContain(message);
    expect(daemon.seen).toEqual([]);
  });

  it("that was typed in a terminal of another encoding is refused", async () => {
    const daemon = await fakeDaemon(() => ({ status: 500 }));
    const typed = "correct horse caf\ufffd";
    const io = new FakeIo({ isTTY: true, input: [typed, typed] });
    expect(await webhookd(io, "backup", "--seal-with", "-", "--socket", daemon.socket)).toBe(EXIT.usage);
    expect(io.err).toContain("is not UTF-8");
    expect(daemon.seen).toEqual([]);
  });
});

describe("a configuration", () => {
  it("that is not UTF-8 is refused by name and line, and nothing of it is used", async () => {
    file("l.toml", Buffer.concat([Buffer.from('[data]\ndir = "'), LATIN1, Buffer.from('"\n')]));
    const machine = { cwd: home, readFile: processInputs({}).readFile };
    const io = new FakeIo({ machine });
    expect(await webhookd(io, "config", "check", "l.toml")).toBe(EXIT.answer_is_no);
    expect(io.out).toMatch(/^l\.toml:2: is not UTF-8/);
  });

  it("in variables that are not UTF-8 is refused by name", async () => {
    const io = new FakeIo({ env: { WEBHOOKD_DATA_DIR: "/srv/caf\ufffd" } });
    expect(await webhookd(io, "config", "check")).toBe(EXIT.answer_is_no);
    expect(io.out).toContain("WEBHOOKD_DATA_DIR: is not UTF-8");
  });

  it.each([
    ["the working folder", { cwd: "/srv/caf\ufffd" }, { WEBHOOKD_DATA_DIR: "data" }],
    ["the home folder", { home: "/home/jos\ufffd" }, {}],
    ["the service manager's folder", {}, { STATE_DIRECTORY: "/var/lib/caf\ufffd" }],
  ])(
    "is refused where %s has a name that is not UTF-8: another folder would be made beside it",
    async (_, machine, env) => {
      const io = new FakeIo({ machine, env });
      expect(await webhookd(io, "config", "check")).toBe(EXIT.answer_is_no);
      expect(io.out).toContain("is not UTF-8");
    },
  );
});

describe("a file or stdin of a command", () => {
  const secret = Buffer.concat([Buffer.from("whsec_something, "), LATIN1]);
  const cases: [string, Buffer, string[], string][] = [
    [
      "--secret-from FILE",
      secret,
      ["endpoints", "add", "https://a.example/", "--events", "all", "--secret-from", "FILE"],
      "given:1: ",
    ],
    [
      "--secret-from -",
      secret,
      ["endpoints", "add", "https://a.example/", "--events", "all", "--secret-from", "-"],
      "stdin:1: ",
    ],
    [
      "--headers-from FILE",
      Buffer.concat([Buffer.from('{"x-a":\n"'), LATIN1, Buffer.from('"}')]),
      ["endpoints", "add", "https://a.example/", "--events", "all", "--headers-from", "FILE"],
      "given:2: ",
    ],
    [
      "--data @FILE",
      Buffer.concat([Buffer.from('{"a":"'), LATIN1, Buffer.from('"}')]),
      ["events", "send", "--type", "a.b", "--data", "@FILE"],
      "given:1: ",
    ],
    [
      "--data -",
      Buffer.concat([Buffer.from('{\n"a":"'), LATIN1, Buffer.from('"}')]),
      ["events", "send", "--type", "a.b", "--data", "-"],
      "stdin:2: ",
    ],
    ["ids on stdin", Buffer.concat([Buffer.from("\n"), LATIN1]), ["replay", "-", "--yes"], "stdin:2: "],
    [
      "--secret-file of verify",
      secret,
      ["verify", "--secret-file", "FILE", "--signature", "0".repeat(64), "BODY"],
      "given:1: ",
    ],
  ];

  it.each(cases)("%s is refused by name and line", async (_, bytes, words, place) => {
    const daemon = await fakeDaemon(() => ({ status: 500 }));
    const path = file("given", bytes);
    const body = file("body", Buffer.from("{}"));
    const io = new FakeIo({ bytes });
    const typed = words.map((word) => word.replace("FILE", path).replace("BODY", body));
    if (words[0] !== "verify") typed.push("--socket", daemon.socket);
    expect(await webhookd(io, ...typed)).toBe(EXIT.usage);
    expect(io.err).toContain(`${place}is not UTF-8`);
    expect(daemon.seen).toEqual([]);
  });

  it("with a key is refused by name", async () => {
    const path = file("key", Buffer.concat([Buffer.from("whk_"), LATIN1]));
    const io = new FakeIo({});
    expect(await webhookd(io, "status", "--url", "http://127.0.0.1:9", "--key-file", path)).toBe(EXIT.not_allowed);
    expect(io.err).toContain(`${path} does not contain an API key`);
  });
});

describe("a word of the command line", () => {
  it("that is not UTF-8 is refused by its place", () => {
    const run = (words: string) =>
      spawnSync("sh", ["-c", `"$NODE" "$MAIN" ${words}`], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: home, NODE: process.execPath, MAIN },
      });
    const wrong = run(`config check "$(printf 'caf\\351.toml')"`);
    expect([wrong.status, wrong.stderr]).toEqual([EXIT.usage, expect.stringContaining("argument 3 is not UTF-8")]);
    // U+FFFD itself, encoded as UTF-8, is a character like any other.
    const right = run(`config check "$(printf '\\357\\277\\275.toml')"`);
    expect([right.status, right.stdout]).toEqual([EXIT.answer_is_no, expect.stringContaining("there is no file")]);
  });
});
