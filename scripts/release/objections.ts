import { missingFixes } from "../package/node-fixes.ts";

/** The facts that decide whether there may be a release. */
export interface Candidate {
  readonly version: string;
  /** The output of `git status --porcelain`. */
  readonly gitStatus: string;
  readonly changelog: string;
  /** The version of Node for each target. */
  readonly nodes: Readonly<Record<string, string>>;
  /** True if somebody said that Node may lack its latest fixes. */
  readonly unpatchedNode: boolean;
  /** The tools that this machine lacks to make everything, and how to get them. */
  readonly missingTools: readonly string[];
}

/** Returns the reasons against a release, with what to do about each. Empty if there may be one. */
export function objections(candidate: Candidate): string[] {
  const { version, gitStatus, changelog, nodes, unpatchedNode } = candidate;
  const found: string[] = [];
  if (gitStatus !== "") found.push(`the tree is not clean; commit, or put away:\n${gitStatus.trimEnd()}`);
  if (notesOf(version, changelog) === null) {
    found.push(`CHANGELOG.md has no notes under "## ${version} (YYYY-MM-DD)"; write them, and the day of the release`);
  }
  for (const [target, node] of Object.entries(unpatchedNode ? {} : nodes)) {
    const lacks = missingFixes(node);
    if (lacks === null) continue;
    found.push(
      `Node ${node} for ${target} ${lacks}; name an official build with --node ${target}=PATH, ` +
        "or say --unpatched-node, which the release's notes will repeat",
    );
  }
  const lines = Map.groupBy(Object.entries(nodes), ([, node]) => node.split(".", 1)[0]!);
  if (lines.size > 1) {
    const named = [...lines].map(([line, targets]) => `${line} for ${targets.map(([target]) => target).join(", ")}`);
    found.push(
      `it would have ${lines.size === 2 ? "two" : lines.size} lines of Node: ${named.join("; ")}. ` +
        "What is tested on one says little about another: name builds of one line with --node",
    );
  }
  for (const tool of candidate.missingTools) found.push(`this machine has no ${tool}`);
  return found;
}

/**
 * Returns the notes of a version in CHANGELOG.md, without the heading. Null if there are none, or if the heading has no
 * date.
 */
export function notesOf(version: string, changelog: string): string | null {
  const section = changelog.split(/^## /m).find((text) => text.startsWith(`${version} (`));
  if (section !== undefined && !/^\S+ \(\d{4}-\d{2}-\d{2}\)\n/.test(section)) return null;
  const notes = section?.slice(section.indexOf("\n")).trim() ?? "";
  return notes === "" ? null : notes;
}
