import type { Executable } from "../package/make.ts";
import { missingFixes } from "../package/node-fixes.ts";
import type { Proof } from "../package/prove.ts";

export interface Proven {
  readonly executable: Executable;
  readonly proof: Proof;
}

const SHOWN: Readonly<Record<Proof, string>> = {
  run: "run on this platform",
  emulated: "run in an emulator",
  unrun: "never run: whole, and for this platform, as far as the file itself tells",
  failed: "failed",
};

export interface Release {
  readonly version: string;
  readonly commit: string;
  /** The section of CHANGELOG.md; null in a rehearsal. */
  readonly changes: string | null;
  /** The reasons against this release. Empty except in a rehearsal. */
  readonly against: readonly string[];
  readonly made: readonly Proven[];
}

/** RELEASE.md: the changes, and what was tested with each executable before the release. */
export function releaseNotes({ version, commit, changes, against, made }: Release): string {
  const rows = made.map(({ executable: { target, node, bytes }, proof }) => {
    return `| ${target.name} | ${node.version} | ${(bytes / 1e6).toFixed(1)} MB | ${SHOWN[proof]} |`;
  });
  const unpatched = new Set(made.map(({ executable: { node } }) => node.version).filter((node) => missingFixes(node)));
  const warnings = [
    ...(against.length > 0 ? [`A rehearsal, not to be published: ${against.join("; ")}.`] : []),
    ...[...unpatched].map((node) => `Node ${node} ${missingFixes(node)}: for trials only.`),
  ];
  return `# webhookd ${version}

Built from commit ${commit}.
${warnings.map((warning) => `\n**${warning}**\n`).join("")}
| executable | Node | size | shown |
|---|---|---|---|
${rows.join("\n")}

macOS runs the darwin ones only after \`codesign --sign - FILE\`, unless they were signed when they were packed.

${changes ?? ""}
`;
}
