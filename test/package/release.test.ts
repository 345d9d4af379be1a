import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../scripts/build.ts";
import { copyAddons } from "../../scripts/package/addons.ts";
import type { Executable } from "../../scripts/package/make.ts";
import { missingFixes } from "../../scripts/package/node-fixes.ts";
import { thisMachine } from "../../scripts/package/targets.ts";
import { billOfMaterials } from "../../scripts/release/bill-of-materials.ts";
import { checksums } from "../../scripts/release/checksums.ts";
import { licences } from "../../scripts/release/licences.ts";
import { releaseNotes } from "../../scripts/release/notes.ts";
import { notesOf, objections, type Candidate } from "../../scripts/release/objections.ts";
import { packagesIn } from "../../scripts/release/packages.ts";
import { missingTools } from "../../scripts/release/tools.ts";

let directory: string;
let executable: Executable;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "webhookd-release-"));
  const made = await bundle(`${process.platform}-${process.arch}`, join(directory, "bundle"));
  const file = join(directory, "webhookd");
  writeFileSync(file, "an executable");
  const node = { file, version: "24.21.0" };
  executable = { file, target: thisMachine()!, node, bundle: made, bytes: 13 };
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("what is in the executable", () => {
  it("are packages whose licences allow it, each with its text", () => {
    const packages = packagesIn(executable.bundle);
    const text = licences(packages, "Node's licence");
    expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(["better-sqlite3", "h3", "undici", "ajv"]));
    for (const { name, version, license } of packages) expect(text).toContain(`\n${name} ${version} (${license})\n===`);
    expect(text).toContain("\nNode's licence\n");
  });

  it.runIf(process.platform === "linux")("are also the addons beside the program", () => {
    const name = `@koromix/koffi-linux-${process.arch}`;
    expect(packagesIn(executable.bundle).map((one) => one.name)).toContain(name);
    expect(billOfMaterials(executable, "2026-11-21T00:00:00Z").components.map((one) => one.name)).toContain(name);
  });

  it("are koffi's builds for Linux alone, each under its licence, whichever is installed here", () => {
    const { embedded, packages } = copyAddons(["darwin-arm64"], mkdtempSync(join(directory, "addons-")));
    expect(embedded["darwin-arm64"]!.koffi).toBeNull();
    const others = { ...executable.bundle, addons: packages };
    expect(packagesIn(others).filter(({ name }) => name.includes("koffi"))).toEqual([]);
    const addons = ["x64", "arm64"].map((arch) => `node_modules/@koromix/koffi-linux-${arch}`);
    const all = packagesIn(others, { ...others, addons }).filter(({ name }) => name.includes("koffi"));
    expect(all.map(({ name }) => name)).toEqual(["@koromix/koffi-linux-arm64", "@koromix/koffi-linux-x64"]);
    expect(licences(all, "").match(/^MIT License\n\nCopyright .* Niels Martignène/gm)).toHaveLength(2);
  });

  it("has no package that only develops it, or whose part of the bundle is empty", () => {
    const names = packagesIn(executable.bundle).map(({ name }) => name);
    for (const name of ["esbuild", "vitest", "typescript", "node-forge", "untun"]) expect(names).not.toContain(name);
  });

  it.each([
    [{ license: "GPL-3.0-only" }, /is under GPL-3.0-only/],
    [{ directory: import.meta.dirname }, /without the text of its licence/],
  ])("is refused with %o", (fault, why) => {
    const [first] = packagesIn(executable.bundle);
    expect(() => licences([{ ...first!, ...fault }], "")).toThrow(why);
  });

  it("is listed with its hashes, Node and SQLite included", () => {
    const bill = billOfMaterials(executable, "2026-11-21T00:00:00Z");
    const components = new Map(bill.components.map((component) => [component.name, component]));
    expect(bill).toMatchObject({
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      metadata: { component: { name: "webhookd" } },
    });
    expect(components.get("node")).toMatchObject({
      type: "platform",
      cpe: "cpe:2.3:a:nodejs:node.js:24.21.0:*:*:*:*:*:*:*",
      hashes: [{ alg: "SHA-256", content: createHash("sha256").update("an executable").digest("hex") }],
    });
    expect(components.get("sqlite")!.version).toMatch(/^3\.\d+\.\d+$/);
    expect(components.get("@valibot/to-json-schema")!.purl).toMatch(/^pkg:npm\/%40valibot\/to-json-schema@/);
    for (const { hashes } of components.values()) {
      for (const { alg, content } of hashes ?? []) expect(content).toHaveLength(alg === "SHA-512" ? 128 : 64);
    }
    const refs = bill.components.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    expect(bill.dependencies[0]!.dependsOn).toEqual(refs);
  });
});

describe("a release", () => {
  const ready: Candidate = {
    missingTools: [],
    version: "1.2.0",
    gitStatus: "",
    changelog: "# Changelog\n\n## 1.2.0 (2026-12-01)\n\n- More.\n\n## 1.1.0 (2026-11-01)\n\n- Less.\n",
    nodes: { "linux-x64": "24.22.1", "darwin-arm64": "24.23.0" },
    unpatchedNode: false,
  };

  it("may be made of a clean tree that the changelog names, on a Node with its fixes", () => {
    expect(objections(ready)).toEqual([]);
    expect(notesOf("1.2.0", ready.changelog)).toBe("- More.");
  });

  it.each([
    ["a changed file", { gitStatus: " M src/daemon.ts\n" }, /not clean.*\n M src\/daemon.ts/],
    ["a version without notes", { version: "1.3.0" }, /no notes under "## 1.3.0/],
    ["a version whose notes are empty", { changelog: "## 1.2.0 (2026-12-01)\n\n## 1.1.0 (2026-11-01)\n" }, /no notes/],
    ["a version without a date", { changelog: "## 1.2.0 (not released yet)\n\n- More.\n" }, /no notes/],
    ["a version that begins like another", { version: "1.2" }, /no notes/],
    ["a Node without its fixes", { nodes: { "win-x64": "24.22.0" } }, /Node 24.22.0 for win-x64 lacks .* of 24.22.1/],
    [
      "a tool missing",
      { missingTools: ["dh (apt-get install debhelper)"] },
      /this machine has no dh \(apt-get install/,
    ],
    [
      "two lines of Node",
      { nodes: { "linux-x64": "24.22.1", "linux-arm64": "24.22.1", "darwin-arm64": "26.12.1" } },
      /two lines of Node: 24 for linux-x64, linux-arm64; 26 for darwin-arm64.* --node/,
    ],
    ["a Node of another line", { nodes: { "win-x64": "25.9.0" } }, /is of a line/],
  ])("may not be made with %s", (_, fault, why) => {
    expect(objections({ ...ready, ...fault })).toEqual([expect.stringMatching(why)]);
  });

  it("may be made on an unpatched Node if the caller insists, and says so itself", () => {
    const nodes = { "linux-x64": "24.21.0" };
    expect(objections({ ...ready, nodes, unpatchedNode: true })).toEqual([]);
    expect(objections({ ...ready, nodes: { ...nodes, "darwin-x64": "26.10.0" }, unpatchedNode: true })).toHaveLength(1);
    expect(missingFixes("26.12.1")).toBeNull();
    const made = [{ executable, proof: "run" } as const];
    const release = { version: "1.2.0", commit: "abc", changes: "- More.", against: [], made };
    expect(releaseNotes(release)).toMatch(/\*\*Node 24.21.0 lacks the security fixes of 24.22.1/);
  });

  it("knows which tools are missing here, before it begins", () => {
    expect(missingTools([["node (nodejs.org)", ["node", "--version"]]])).toEqual([]);
    const missing = [
      ["no-such-tool (apt-get install it)", ["no-such-tool", "--version"]],
      ["a failing tool (mend it)", ["node", "--no-such-flag"]],
    ] as const;
    expect(missingTools(missing)).toEqual(missing.map(([name]) => name));
  });

  it("has checksums of all its files", () => {
    const files = mkdtempSync(join(directory, "sums-"));
    for (const name of ["b", "a", "SHA256SUMS"]) writeFileSync(join(files, name), name);
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    expect(checksums(files)).toBe(`${hash("a")}  a\n${hash("b")}  b\n`);
  });
});
