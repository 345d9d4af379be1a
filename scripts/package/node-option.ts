import { namedNode, type NodeBinary } from "./node-binary.ts";
import { targetNamed, thisMachine, type TargetName } from "./targets.ts";

/** Reads the values of `--node`: `PATH` for this machine's executable, `linux-arm64=PATH` for that target's. */
export function readNodes(options: readonly string[]): Partial<Record<TargetName, NodeBinary>> {
  const nodes: Partial<Record<TargetName, NodeBinary>> = {};
  for (const option of options) {
    const [, name, path] = /^(?:([a-z]+-[a-z0-9]+)=)?(.+)$/s.exec(option)!;
    const target = name === undefined ? thisMachine() : targetNamed(name);
    if (target === undefined) throw new Error(`say for which target ${option} is: --node linux-x64=PATH`);
    nodes[target.name] = namedNode(path!);
  }
  return nodes;
}
