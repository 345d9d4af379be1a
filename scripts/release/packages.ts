/** The npm packages that are really in an executable, by what the bundler put into it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, type Bundle } from "../build.ts";

export interface Package {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as the lockfile has it. */
  readonly license: string;
  /** `sha512-…`, of the archive in the registry. */
  readonly integrity: string;
  readonly directory: string;
}

/** What the packer adds: it starts the program, and holds its files. */
const PACKER = ["node_modules/@yao-pkg/pkg", "node_modules/@roberts_lando/vfs"];
/** Holds the addon, which is copied beside the bundle. */
const ADDON = "node_modules/better-sqlite3";

interface Lockfile {
  readonly packages: Readonly<Record<string, { version: string; license: string; integrity: string } | undefined>>;
}

/** Sorted by name and version, each once. */
export function packagesIn({ program, threads }: Pick<Bundle, "program" | "threads">): Package[] {
  const lockfile = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lockfile;
  const paths = new Set([...PACKER, ADDON]);
  for (const { outputs } of [program, ...threads]) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [source, { bytesInOutput }] of Object.entries(inputs)) {
        const path = packageOf(source);
        if (path !== null && bytesInOutput > 0) paths.add(path);
      }
    }
  }
  const packages = [...paths].map((path) => {
    const locked = lockfile.packages[path];
    if (!locked) throw new Error(`${path} is in the bundle, but not in package-lock.json`);
    const { version, license, integrity } = locked;
    return { name: path.replace(/^.*node_modules\//, ""), version, license, integrity, directory: join(root, path) };
  });
  // One package at one version may be installed in several places.
  const unique = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]));
  return [...unique.keys()].toSorted().map((key) => unique.get(key)!);
}

/** `node_modules/h3` of `…/node_modules/h3/dist/h3.mjs`; null for what is ours. */
function packageOf(source: string): string | null {
  const start = source.indexOf("node_modules/");
  if (start < 0) return null;
  const path = source.slice(start);
  const last = path.lastIndexOf("node_modules/") + "node_modules/".length;
  const [first, second] = path.slice(last).split("/") as [string, string];
  return path.slice(0, last) + (first.startsWith("@") ? `${first}/${second}` : first);
}

/** The version of SQLite in better-sqlite3's addon. */
export function sqliteVersion(): string {
  const header = readFileSync(join(root, ADDON, "deps/sqlite3/sqlite3.h"), "utf8");
  return /SQLITE_VERSION\s+"([\d.]+)"/.exec(header)![1]!;
}
