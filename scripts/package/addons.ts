/** Copies the shared libraries that the program needs on its target platforms. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Addons, EmbeddedAddon } from "../../src/native.ts";
import { root } from "../root.ts";
import { writeCompressed } from "./compressed.ts";
import { fileIn } from "./locked-package.ts";

/** The package that contains SQLite. */
export const SQLITE = "better-sqlite3";
/** The build of koffi by target, for the same C library as Node's own. Other targets do not use koffi. */
const KOFFI: Readonly<Record<string, { readonly name: string; readonly file: string } | undefined>> = {
  "linux-x64": { name: "@koromix/koffi-linux-x64", file: "linux_x64/koffi.node" },
  "linux-arm64": { name: "@koromix/koffi-linux-arm64", file: "linux_arm64/koffi.node" },
};

export interface CopiedAddons {
  /** The names and hashes that src/native.ts needs, by target. */
  readonly embedded: Readonly<Record<string, Addons>>;
  /** The paths in package-lock.json of the packages that contain the addons. */
  readonly packages: readonly string[];
}

/** Targets are platforms and processors as Node names them: `linux-x64`. */
export function copyAddons(targets: readonly string[], directory: string): CopiedAddons {
  const embedded: Record<string, Addons> = {};
  const packages = new Set([SQLITE]);
  for (const target of targets) {
    const koffi = KOFFI[target];
    const prebuild = join(root, "node_modules", SQLITE, "prebuilds", `${target}.node`);
    if (koffi !== undefined) packages.add(koffi.name);
    embedded[target] = {
      sqlite: embed("sqlite", prebuild, directory),
      koffi: koffi === undefined ? null : embed("koffi", fileIn(koffi, koffi.file), directory),
    };
  }
  return { embedded, packages: [...packages].map((name) => `node_modules/${name}`) };
}

function embed(what: string, file: string, directory: string): EmbeddedAddon {
  const bytes = readFileSync(file);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  // The name contains a hash of the contents, so that executables of several versions can share a folder.
  const name = `${what}-${sha256.slice(0, 16)}.node`;
  return { name, asset: writeCompressed(directory, name, bytes), sha256 };
}
