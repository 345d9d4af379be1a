import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { thisMachine } from "../../scripts/package/targets.ts";
import { CHECKSUMS, checksums } from "../../scripts/release/checksums.ts";
import { installer, sign } from "../../scripts/release/signature.ts";

const SCRIPT = resolve(import.meta.dirname, "../../scripts/release/install.sh");
const PROGRAM = "#!/bin/sh\necho webhookd 9.9.9\n";
const name = `webhookd-9.9.9-${thisMachine()?.name}`;

const lacks = process.platform === "win32" || spawnSync("ssh-keygen", ["-?"]).error !== undefined;
if (lacks) process.stderr.write("SKIPPED: install.sh is not run, because there is no ssh-keygen or no sh here\n");

let keys: string;
beforeAll(() => {
  keys = mkdtempSync(join(tmpdir(), "webhookd-signers-"));
  if (lacks) return;
  for (const key of ["ours", "theirs"])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", join(keys, key)]);
});
afterAll(() => rmSync(keys, { recursive: true, force: true }));

let home: string;
let release: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "webhookd-install-"));
  release = join(home, "release");
  mkdirSync(release);
  writeFileSync(join(release, name), PROGRAM);
  writeFileSync(join(release, "webhookd-9.9.9-plan9-mips"), "another");
  if (lacks) return;
  writeFileSync(join(release, "install.sh"), installer(join(keys, "ours")));
  writeFileSync(join(release, CHECKSUMS), checksums(release));
  sign(join(release, CHECKSUMS), join(keys, "ours"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const prefix = () => join(home, "prefix");
function install(words: readonly string[], script = join(release, "install.sh")) {
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home };
  const { status, stdout, stderr } = spawnSync("sh", [script, ...words], { encoding: "utf8", env, cwd: home });
  return { status, stdout, stderr, installed: readdirSync(home, { recursive: true, encoding: "utf8" }).filter(isNew) };
}
const isNew = (file: string) => !/^(release|prefix|prefix\/bin)(\/|$)(?!.*webhookd$)/.test(file);
const from = () => ["--from", release, "--prefix", prefix()];

describe.skipIf(lacks)("install.sh", () => {
  it("installs what is signed and whole, and says what it does", () => {
    const { status, stdout, installed } = install(from());
    expect(status).toBe(0);
    expect(installed).toEqual(["prefix/bin/webhookd"]);
    expect(stdout).toBe(
      `signature: good\ngetting ${name} from ${release}\nchecksum: good\ninstalled: ${prefix()}/bin/webhookd\n` +
        `next: ${prefix()}/bin/webhookd serve --dev (${prefix()}/bin is not in your PATH)\n`,
    );
    expect(statSync(join(prefix(), "bin/webhookd")).mode & 0o777).toBe(0o755);
    expect(execFileSync(join(prefix(), "bin/webhookd"), { encoding: "utf8" })).toBe("webhookd 9.9.9\n");
  });

  it("installs into ~/.local by default, and replaces what is there", () => {
    mkdirSync(join(home, ".local/bin"), { recursive: true });
    writeFileSync(join(home, ".local/bin/webhookd"), "an old one");
    expect(install(["--from", release]).status).toBe(0);
    expect(readFileSync(join(home, ".local/bin/webhookd"), "utf8")).toBe(PROGRAM);
    expect(readdirSync(join(home, ".local/bin"))).toEqual(["webhookd"]);
  });

  /** Replaces the installed program by a script. */
  const installed = (says: string) => {
    mkdirSync(join(prefix(), "bin"), { recursive: true });
    writeFileSync(join(prefix(), "bin/webhookd"), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
  };

  it.each(["10.0.0", "9.10.0", "9.9.10", "9.9.10-rc.1", "9.10.0-alpha"])(
    "keeps %s, which is newer than a signed release from a mirror, unless it is told to go back",
    (version) => {
      installed(`echo webhookd ${version}`);
      const before = readFileSync(join(prefix(), "bin/webhookd"), "utf8");
      const { status, stderr } = install(from());
      expect([status, readFileSync(join(prefix(), "bin/webhookd"), "utf8")]).toEqual([1, before]);
      expect(stderr).toContain(
        `${prefix()}/bin/webhookd is version ${version}, and the release is 9.9.9, which is older`,
      );
      expect(stderr).toContain("--allow-downgrade");
      expect(install([...from(), "--allow-downgrade"]).status).toBe(0);
      expect(readFileSync(join(prefix(), "bin/webhookd"), "utf8")).toBe(PROGRAM);
    },
  );

  it("knows the order of semver.org, section 11", () => {
    const ordered = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0";
    const versions = ordered.split(" ");
    const script = readFileSync(SCRIPT, "utf8").replace(/^main "\$@"$/m, 'is_older "$1" "$2"');
    for (const [at, one] of versions.entries())
      for (const [place, other] of versions.entries()) {
        const { status } = spawnSync("sh", ["-c", script, "sh", one, other]);
        expect(status, `${one} ${other}`).toBe(at < place ? 0 : 1);
      }
  });

  it.each([
    "echo webhookd 9.9.9",
    "echo webhookd 9.9.9-rc.2",
    "echo webhookd 9.9.8",
    "echo webhookd 9.8.10",
    "echo webhookd 8.10.10",
    "echo webhookd unknown",
    "echo hello",
    "exit 1",
    "kill -9 $$",
  ])("replaces what is not newer, or says no version: %s", (says) => {
    installed(says);
    expect(install(from()).status).toBe(0);
    expect(readFileSync(join(prefix(), "bin/webhookd"), "utf8")).toBe(PROGRAM);
  });

  it("gets it from a URL", async () => {
    const server = createServer(({ url = "" }, response) => response.end(readFileSync(join(release, url))));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const { spawn } = await import("node:child_process");
    const words = [join(release, "install.sh"), "--from", `http://127.0.0.1:${port}/`, "--prefix", prefix()];
    const child = spawn("sh", words, { stdio: "ignore" });
    const code = await new Promise((ended) => child.once("exit", ended));
    server.close();
    expect(code).toBe(0);
    expect(readFileSync(join(prefix(), "bin/webhookd"), "utf8")).toBe(PROGRAM);
  });

  const BROKEN: [string, () => void, RegExp][] = [
    ["the executable was changed", () => appendFileSync(join(release, name), "#\n"), /is not what SHA256SUMS says/],
    [
      "the executable and its checksum were changed",
      () => {
        appendFileSync(join(release, name), "#\n");
        rmSync(join(release, "SHA256SUMS.sig"));
        writeFileSync(join(release, CHECKSUMS), checksums(release));
      },
      /has no SHA256SUMS\.sig/,
    ],
    [
      "the checksums were changed",
      () => appendFileSync(join(release, CHECKSUMS), `${"0".repeat(64)}  another\n`),
      /signature of SHA256SUMS is not one of a trusted key/,
    ],
    [
      "somebody else signed it",
      () => sign(join(release, CHECKSUMS), join(keys, "theirs")),
      /signature of SHA256SUMS is not one of a trusted key/,
    ],
    ["the executable is missing", () => rmSync(join(release, name)), /has no webhookd-9\.9\.9/],
    ["there are no checksums", () => rmSync(join(release, CHECKSUMS)), /is it a release\?/],
  ];
  it.each(BROKEN)("installs nothing where %s", (_what, spoil, why) => {
    spoil();
    const { status, stderr, installed } = install(from());
    expect([status, installed]).toEqual([1, []]);
    expect(stderr).toMatch(why);
    expect(stderr).toMatch(/Nothing was installed\./);
  });

  it("accepts a release without a key only if told to, and still checks its checksum", () => {
    expect(install(from(), SCRIPT)).toMatchObject({ status: 1, installed: [] });
    expect(install([...from(), "--unsigned"], SCRIPT)).toMatchObject({ status: 0 });
    appendFileSync(join(release, name), "#\n");
    expect(install([...from(), "--unsigned"], SCRIPT).stderr).toMatch(/is not what SHA256SUMS says/);
    expect(readFileSync(join(prefix(), "bin/webhookd"), "utf8")).toBe(PROGRAM);
  });

  it("does nothing if it was cut short on its way", () => {
    const text = readFileSync(join(release, "install.sh"), "utf8");
    writeFileSync(join(release, "install.sh"), text.slice(0, text.lastIndexOf("main")));
    expect(install(from())).toMatchObject({ status: 0, stdout: "", installed: [] });
  });

  it("has no fault that shellcheck knows", (context) => {
    const { error, status, stdout } = spawnSync("shellcheck", ["--shell=sh", SCRIPT], { encoding: "utf8" });
    if (error !== undefined) return context.skip("there is no shellcheck here");
    expect([status, stdout]).toEqual([0, ""]);
  });
});
