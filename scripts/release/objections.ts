import { missingFixes } from "../package/node-fixes.ts";

/** All that decides whether there may be a release. */
export interface Candidate {
  readonly version: string;
  /** What `git status --porcelain` prints. */
  readonly gitStatus: string;
  readonly changelog: string;
  /** Node's version by target. */
  readonly nodes: Readonly<Record<string, string>>;
  /** Whether somebody said that Node without its latest fixes will do. */
  readonly unpatchedNode: boolean;
  /** What this machine lacks to make all of it, with where to get it. */
  readonly missingTools: readonly string[];
}

/** Why there may be no release, with what to do about each; empty when there may. */
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

/** The notes of a version in CHANGELOG.md, without the heading; null if there are none, or the heading has no date. */
export function notesOf(version: string, changelog: string): string | null {
  const section = changelog.split(/^## /m).find((text) => text.startsWith(`${version} (`));
  if (section !== undefined && !/^\S+ \(\d{4}-\d{2}-\d{2}\)\n/.test(section)) return null;
  const notes = section?.slice(section.indexOf("\n")).trim() ?? "";
  return notes === "" ? null : notes;
}
