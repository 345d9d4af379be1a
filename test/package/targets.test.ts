import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inspect } from "../../scripts/package/inspect.ts";
import { requireIntegrity } from "../../scripts/package/locked-package.ts";
import { namedNode } from "../../scripts/package/node-binary.ts";
import { NODE_FLAGS } from "../../scripts/package/node-flags.ts";
import { readNodes } from "../../scripts/package/node-option.ts";
import { fileName, TARGETS, targetNamed, thisMachine } from "../../scripts/package/targets.ts";
import { root } from "../../scripts/root.ts";

const directory = mkdtempSync(join(tmpdir(), "webhookd-targets-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function write(name: string, bytes: Uint8Array): string {
  const file = join(directory, name);
  writeFileSync(file, bytes);
  return file;
}

function head(fields: Readonly<Record<number, readonly number[]>>): Buffer {
  const bytes = Buffer.alloc(200);
  for (const [offset, field] of Object.entries(fields)) bytes.set(field, Number(offset));
  return bytes;
}

it("Node is started alike in the executable, by scripts/webhookd, by npm start and by the npm package", () => {
  const flags = ` ${NODE_FLAGS.join(" ")} `;
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  expect(scripts["start"]).toContain(`node${flags}cli/main.ts`);
  expect(readFileSync("scripts/webhookd", "utf8").split(flags)).toHaveLength(3);
  // An old Node knows these V8 flags, but few of Node's own. It must at least get as far as saying that it is too old.
  const ofV8 = NODE_FLAGS.filter((flag) => flag !== "--disable-sigusr1").join(" ");
  expect(readFileSync("scripts/release/npm/webhookd.js", "utf8").split("\n")[0]).toBe(`#!/usr/bin/env -S node ${ofV8}`);
});

describe("a target", () => {
  it("is named as in the files of a release", () => {
    expect(TARGETS.map((target) => fileName(target, "1.2.0"))).toEqual([
      "webhookd-1.2.0-linux-x64",
      "webhookd-1.2.0-linux-arm64",
      "webhookd-1.2.0-darwin-x64",
      "webhookd-1.2.0-darwin-arm64",
      "webhookd-1.2.0-win-x64.exe",
    ]);
    expect(() => targetNamed("linux-x86")).toThrow(/no target "linux-x86"; there are linux-x64, /);
  });

  it("takes a Node that is named for it", () => {
    const nodes = readNodes([process.execPath, `win-x64=${process.execPath}`]);
    const node = { file: process.execPath, version: process.versions.node };
    expect(nodes).toEqual({ [thisMachine()!.name]: node, "win-x64": node });
    expect(() => readNodes(["beos-x64=/bin/true"])).toThrow(/no target "beos-x64"/);
    expect(() => namedNode(import.meta.filename)).toThrow(/not a Node binary/);
  });

  it("has a Node that is what the lockfile says, or none", () => {
    const archive = write("node.tgz", Buffer.from("an archive"));
    const integrity = "sha512-BNlMaN97C6dJWO8cKbMzOQ6bVMpHHjvfGCQVZlNnc0OIXG+9uPbJeMXXMcTjVg==";
    expect(() => requireIntegrity(archive, integrity)).toThrow(/was not what package-lock.json says, and is removed/);
    expect(() => requireIntegrity(archive, integrity)).toThrow(/ENOENT/);
  });
});

describe("an executable's file", () => {
  it.each([
    ["linux", "x64", { 0: [0x7f, 0x45, 0x4c, 0x46], 18: [0x3e] }],
    ["linux", "arm64", { 0: [0x7f, 0x45, 0x4c, 0x46], 18: [0xb7] }],
    ["darwin", "x64", { 0: [0xcf, 0xfa, 0xed, 0xfe, 0x07, 0, 0, 0x01] }],
    ["darwin", "arm64", { 0: [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 0x01] }],
    ["win32", "x64", { 0: [0x4d, 0x5a], 60: [0x80], 128: [0x50, 0x45, 0, 0, 0x64, 0x86] }],
  ])("says that it is for %s-%s", (platform, arch, fields) => {
    expect(inspect(write("head", head(fields)))).toEqual({ platform, arch, packed: false });
  });

  it("says whether anything was packed into it", () => {
    const packed = Buffer.concat([head({}), Buffer.from("NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1")]);
    expect(inspect(write("packed", packed))).toEqual({ platform: "?", arch: "?", packed: true });
    expect(inspect(process.execPath)).toEqual({ platform: process.platform, arch: process.arch, packed: false });
  });
});

it("one h3 is installed, though listhen asks for one of its own", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages: object };
  expect(Object.keys(packages).filter((path) => path.endsWith("node_modules/h3"))).toEqual(["node_modules/h3"]);
});
