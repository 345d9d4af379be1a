import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bundle, type Bundle } from "../build.ts";
import { inspect } from "./inspect.ts";
import { builder, pinnedNode, type NodeBinary } from "./node-binary.ts";
import type { Target, TargetName } from "./targets.ts";

export interface Executable {
  readonly file: string;
  readonly target: Target;
  readonly node: NodeBinary;
  readonly bundle: Bundle;
  readonly bytes: number;
}

/** Makes one executable. `nodes` replace the pinned Node binaries. */
export async function makeExecutable(
  target: Target,
  file: string,
  nodes: Partial<Record<TargetName, NodeBinary>>,
): Promise<Executable> {
  const node = nodes[target.name] ?? pinnedNode(target);
  const runner = builder(node.version, Object.values(nodes));
  const directory = mkdtempSync(join(tmpdir(), "webhookd-package-"));
  try {
    const bundled = await bundle(`${target.platform}-${target.arch}`, directory, runner);
    mkdirSync(dirname(file), { recursive: true });
    const words = [join(import.meta.dirname, "pack.ts"), directory, node.file, target.name, file];
    execFileSync(runner, words, { stdio: ["ignore", "ignore", "inherit"] });
    requireTarget(file, target);
    return { file, target, node, bundle: bundled, bytes: statSync(file).size };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function requireTarget(file: string, { platform, arch }: Target): void {
  const found = inspect(file);
  if (found.platform === platform && found.arch === arch && found.packed) return;
  throw new Error(`${file} did not become an executable for ${platform}-${arch}: ${JSON.stringify(found)}`);
}
