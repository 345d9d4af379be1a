/**
 * Fetches packages from the npm registry with exactly the content that package-lock.json specifies, for other platforms
 * too.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../root.ts";

export interface Locked {
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** The hash of the archive in the registry: `sha512-…`. */
  readonly integrity: string;
}

/** Returns the entries of package-lock.json by path: `node_modules/h3`. */
export function lockfile(): Readonly<Record<string, Locked | undefined>> {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  return packages;
}

interface Wanted {
  readonly name: string;
  /** If absent, the lockfile's version. */
  readonly version?: string;
  /** The hash of a version that the lockfile does not name. */
  readonly integrity?: string | undefined;
}

/** Returns the path of `file` in the installed package, or in the one that it downloads from the npm registry. */
export function fileIn({ name, version: given, integrity: known }: Wanted, file: string): string {
  const lock = lockfile()[`node_modules/${name}`];
  const version = given ?? lock?.version;
  const isLocked = lock?.version === version;
  const installed = join(root, "node_modules", name, file);
  if (isLocked && existsSync(installed)) return installed;
  const integrity = isLocked ? lock?.integrity : known;
  if (integrity === undefined) throw new Error(`package-lock.json does not say what ${name}@${version} must be`);
  const cache = join(root, ".cache/npm");
  // npm names its archives like this.
  const stem = `${name.replace("@", "").replace("/", "-")}-${version}`;
  const archive = join(cache, `${stem}.tgz`);
  const directory = join(cache, stem);
  mkdirSync(directory, { recursive: true });
  if (!existsSync(archive)) {
    const words = ["pack", `${name}@${version}`, "--pack-destination", cache, "--silent"];
    execFileSync("npm", words, { stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" });
  }
  requireIntegrity(archive, integrity);
  execFileSync("tar", ["-xzf", archive, "-C", directory, `package/${file}`]);
  return join(directory, "package", file);
}

/** Checks the archive at each use, not only after the download, because other people run the packed program. */
export function requireIntegrity(archive: string, integrity: string): void {
  const [algorithm, expected] = integrity.split(/-(.*)/s) as [string, string];
  if (createHash(algorithm).update(readFileSync(archive)).digest("base64") === expected) return;
  rmSync(archive);
  throw new Error(`${archive} was not what package-lock.json says, and is removed; run the same command again`);
}
