import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/mistake.ts";
import { processInputs } from "../../src/config/inputs.ts";
import { loadSettings } from "../../src/config/settings.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "webhookd-config-"));
  file = join(dir, "webhookd.toml");
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(mode: number): void {
  writeFileSync(file, '[log]\nlevel = "debug"\n');
  chmodSync(file, mode);
}

function level(config?: string): string {
  const inputs = { ...processInputs({ config }), env: {}, cwd: dir };
  try {
    return loadSettings(inputs).settings["log.level"];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.exitCode).toBe(2);
    return error.message;
  }
}

describe.skipIf(process.platform === "win32")("a configuration file that was found, not named,", () => {
  it.each(["0600", "0644", "0444"])("is used when nobody else may change it (mode %s)", (mode) => {
    write(Number.parseInt(mode, 8));
    expect(level()).toBe("debug");
  });

  it.each(["0660", "0606", "0664"])("is refused when others may (mode %s), but used when it is named", (mode) => {
    write(Number.parseInt(mode, 8));
    const message = level();
    expect(message).toContain(`${file}: can be changed by other users (mode ${mode})`);
    expect(message).toContain(`--config ${file}`);
    expect(level(file)).toBe("debug");
  });

  it.skipIf(!isRoot)("is refused when it is another user's", () => {
    write(0o600);
    chownSync(file, NOBODY, -1);
    expect(level()).toContain(`${file}: belongs to user ${NOBODY}, who can change it`);
  });

  it.skipIf(!isRoot)("is refused when the link to it is another user's", () => {
    write(0o600);
    const elsewhere = mkdtempSync(join(tmpdir(), "webhookd-config-"));
    symlinkSync(file, join(elsewhere, "webhookd.toml"));
    chownSync(elsewhere, NOBODY, -1);
    spawnSync("chown", ["-h", String(NOBODY), join(elsewhere, "webhookd.toml")]);
    dir = elsewhere;
    expect(level()).toContain(`belongs to user ${NOBODY}`);
    rmSync(file);
  });
});
