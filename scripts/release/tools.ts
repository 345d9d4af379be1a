import { spawnSync } from "node:child_process";

/** A tool needed in addition to Node and npm, with how to get it, and a command that succeeds if it is installed. */
type Tool = readonly [name: string, command: readonly [string, ...string[]]];

export const FOR_XZ: Tool = ["xz (apt-get install xz-utils)", ["xz", "--version"]];
export const FOR_DEBIAN: Tool = [
  "dh (apt-get install debhelper)",
  ["sh", "-c", "command -v dh && command -v dpkg-buildpackage"],
];
export const FOR_PYTHON: Tool = ["pip (apt-get install python3-pip)", ["python3", "-m", "pip", "--version"]];

/** Returns the names of the tools that are not installed. */
export function missingTools(tools: readonly Tool[]): string[] {
  return tools.filter(([, [file, ...args]]) => spawnSync(file, args).status !== 0).map(([name]) => name);
}
