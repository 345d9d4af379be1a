/** Lists the npm packages that are really in an executable, judging by what the bundler put into it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundle } from "../build.ts";
import { SQLITE } from "../package/addons.ts";
import { lockfile, type Locked } from "../package/locked-package.ts";
import { root } from "../root.ts";

export interface Package extends Locked {
  readonly name: string;
  /** The directory of the package, if this machine's platform has it. */
  readonly directory: string;
}

/** Returns each package once, sorted by name and version. */
export function packagesIn(
  ...bundles: readonly Pick<Bundle, "scripts" | "threads" | "portal" | "addons">[]
): Package[] {
  const paths = new Set(bundles.flatMap(({ addons }) => addons));
  for (const { outputs } of bundles.flatMap(({ scripts, threads, portal }) => [
    ...Object.values(scripts),
    ...threads,
    portal,
  ])) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [source, { bytesInOutput }] of Object.entries(inputs)) {
        const path = packageOf(source);
        if (path !== null && bytesInOutput > 0) paths.add(path);
      }
    }
  }
  const lock = lockfile();
  const packages = [...paths].map((path) => {
    const locked = lock[path];
    if (!locked) throw new Error(`${path} is in the bundle, but not in package-lock.json`);
    const { version, license, integrity } = locked;
    return { name: path.replace(/^.*node_modules\//, ""), version, license, integrity, directory: join(root, path) };
  });
  // One package at one version may be installed in several places.
  const unique = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]));
  return [...unique.keys()].toSorted().map((key) => unique.get(key)!);
}

/** Returns `node_modules/h3` for `…/node_modules/h3/dist/h3.mjs`, or null for our own code. */
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
  const header = readFileSync(join(root, "node_modules", SQLITE, "deps/sqlite3/sqlite3.h"), "utf8");
  return /SQLITE_VERSION\s+"([\d.]+)"/.exec(header)![1]!;
}
