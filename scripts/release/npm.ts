/**
 * Makes the npm package. It does not publish this checkout, whose package.json is private and installs tools. The
 * package contains the bundle for every platform, with its SQLite, and the publishers' client. Nothing else is
 * installed with it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf, SCRIPTS } from "../../src/bundle.ts";
import { bundle, type Bundle } from "../build.ts";
import { makeLibrary } from "../clients/library.ts";
import { root } from "../root.ts";
import { bundleLicences } from "./licences.ts";

export interface NpmPackage {
  readonly file: string;
  readonly bundle: Bundle;
}

const SHIPPED = join(import.meta.dirname, "npm");

/** `targets` are platforms and processors as Node names them. */
export async function makeNpmPackage(targets: readonly string[], directory: string): Promise<NpmPackage> {
  const scratch = mkdtempSync(join(tmpdir(), "webhookd-npm-"));
  try {
    const bundled = await bundle(targets, join(scratch, "daemon"));
    // Code that V8 compiled for one version of Node is useless to others.
    for (const name of Object.keys(SCRIPTS)) rmSync(join(scratch, "daemon", codeOf(name)), { force: true });
    await makeLibrary(join(scratch, "client"), bundled.version);
    mkdirSync(join(scratch, "bin"));
    copyFileSync(join(SHIPPED, "webhookd.js"), join(scratch, "bin/webhookd.js"));
    chmodSync(join(scratch, "bin/webhookd.js"), 0o755);
    copyFileSync(join(SHIPPED, "README.md"), join(scratch, "README.md"));
    copyFileSync(join(root, "LICENSE"), join(scratch, "LICENSE"));
    writeFileSync(join(scratch, "THIRD-PARTY-LICENSES"), bundleLicences(bundled));
    writeFileSync(join(scratch, "package.json"), `${JSON.stringify(description(), null, 2)}\n`);
    mkdirSync(directory, { recursive: true });
    const words = ["pack", "--silent", "--ignore-scripts", "--pack-destination", directory];
    const shell = process.platform === "win32";
    const name = execFileSync("npm", words, { cwd: scratch, encoding: "utf8", shell }).trim();
    return { file: join(directory, name), bundle: bundled };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The package.json of the published package. */
function description(): object {
  const { name, version, description, license } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  ) as Record<string, string>;
  return {
    name,
    version,
    description,
    license,
    keywords: ["webhook", "webhooks", "delivery", "retry", "daemon", "sqlite"],
    type: "module",
    bin: { webhookd: "bin/webhookd.js" },
    exports: {
      "./client": { types: "./client/index.d.ts", default: "./client/index.js" },
      "./package.json": "./package.json",
    },
    files: ["bin", "client", "daemon", "THIRD-PARTY-LICENSES"],
    // The client needs this version. The daemon itself reports that it needs a newer one.
    engines: { node: ">=20" },
  };
}
