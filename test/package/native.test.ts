import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AddonRefused, addonDirectories, extractAddon } from "../../src/native.ts";

const content = Buffer.from("the addon's bytes");
const sha256 = createHash("sha256").update(content).digest("hex");
const addon = { name: "sqlite-0123.node", sha256, bytes: () => content };
const loads = () => {};

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "webhookd-native-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("the addon's extraction", () => {
  it("writes the addon for its owner alone", () => {
    const file = extractAddon(addon, [join(home, "a", "b")], loads);
    expect(file).toBe(join(home, "a", "b", addon.name));
    expect(readFileSync(file)).toEqual(content);
    expect(statSync(file).mode & 0o777).toBe(0o500);
    expect(statSync(join(home, "a", "b")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(home, "a", "b"))).toEqual([addon.name]);
  });

  it("keeps a file that is whole", () => {
    const file = extractAddon(addon, [home], loads);
    const { ino } = statSync(file);
    const unread = { ...addon, bytes: () => expect.unreachable("it is there already") };
    extractAddon(unread, [home], loads);
    expect(statSync(file).ino).toBe(ino);
  });

  it.each([
    ["has other content", (file: string) => writeFileSync(file, "somebody's bytes!")],
    ["was cut short", (file: string) => writeFileSync(file, content.subarray(0, 5))],
    ["others may write to", (file: string) => (writeFileSync(file, content), chmodSync(file, 0o777))],
    ["is a link", (file: string) => (writeFileSync(`${file}.real`, content), symlinkSync(`${file}.real`, file))],
  ])("replaces a file that %s", (_, spoil) => {
    spoil(join(home, addon.name));
    const file = extractAddon(addon, [home], loads);
    expect(readFileSync(file)).toEqual(content);
    expect(statSync(file).mode & 0o777).toBe(0o500);
  });

  it.each([
    ["others may write to", (directory: string) => (mkdirSync(directory), chmodSync(directory, 0o777))],
    ["is a link", (directory: string) => symlinkSync(tmpdir(), directory)],
    ["is a file", (directory: string) => writeFileSync(directory, "")],
  ])("passes over a directory that %s", (_, prepare) => {
    prepare(join(home, "first"));
    expect(extractAddon(addon, [join(home, "first"), join(home, "second")], loads)).toBe(
      join(home, "second", addon.name),
    );
  });

  it.runIf(process.getuid?.() === 0)("passes over a directory of another user", () => {
    mkdirSync(join(home, "first"), { mode: 0o700 });
    chownSync(join(home, "first"), 65_534, 65_534);
    expect(extractAddon(addon, [join(home, "first"), join(home, "second")], loads)).toBe(
      join(home, "second", addon.name),
    );
  });

  it("passes over a directory in which the system makes none", () => {
    expect(extractAddon(addon, ["/proc/none/of/these", join(home, "second")], loads)).toBe(
      join(home, "second", addon.name),
    );
  });

  it("passes over a directory from which nothing may be loaded", () => {
    const noexec = (file: string) => {
      if (file.startsWith(join(home, "first"))) throw new Error("failed to map segment from shared object");
    };
    expect(extractAddon(addon, [join(home, "first"), join(home, "second")], noexec)).toBe(
      join(home, "second", addon.name),
    );
  });

  it("names every directory and its fault when none will do", () => {
    writeFileSync(join(home, "first"), "");
    symlinkSync(home, join(home, "second"));
    const directories = [join(home, "first"), join(home, "second")];
    expect(() => extractAddon(addon, directories, loads)).toThrow(AddonRefused);
    expect(() => extractAddon(addon, directories, loads)).toThrow(
      /load sqlite-0123.node from: .*first: not a directory[^]*second: not a directory/,
    );
  });
});

describe("the addon's directories", () => {
  it("begin with the data directory, then caches, and end with the temporary one", () => {
    const env = { CACHE_DIRECTORY: "/var/cache/w", XDG_CACHE_HOME: "/x", HOME: "/h" };
    expect(addonDirectories("/data", env)).toEqual([
      "/data/.native",
      "/var/cache/w/webhookd",
      "/x/webhookd",
      "/h/.cache/webhookd",
      join(tmpdir(), `webhookd-${process.getuid?.()}`),
    ]);
  });

  it("leave out what is unset or relative", () => {
    expect(addonDirectories(undefined, { XDG_CACHE_HOME: "cache", HOME: "" })).toHaveLength(1);
  });
});
