import { readFileSync } from "node:fs";

/** The pages whose blocks are tested. */
export const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/cluster.md",
  "docs/configuration.md",
  "docs/install.md",
  "docs/operating.md",
  "docs/outbox.md",
  "docs/publishing.md",
  "docs/receiving.md",
  "docs/runbook.md",
] as const;
export type Page = (typeof PAGES)[number];

export interface Block {
  readonly page: Page;
  /** The number of its first line of text. */
  readonly line: number;
  /** The nearest heading of the second level. */
  readonly section: string;
  /** The first word after the fence, which selects the highlighting. */
  readonly language: string;
  /** The other words, which say how the block is tested. */
  readonly rule: readonly string[];
  readonly text: string;
}

export function blocksOf(page: Page): Block[] {
  const blocks: Block[] = [];
  let section = "";
  let open: { fence: string; line: number; info: string[]; text: string[] } | null = null;
  for (const [index, line] of readFileSync(page, "utf8").split("\n").entries()) {
    const fence = /^\s*(```+)(.*)$/.exec(line);
    if (open !== null && fence?.[1] === open.fence && fence[2] === "") {
      const [language = "", ...rule] = open.info;
      blocks.push({ page, line: open.line, section, language, rule, text: `${open.text.join("\n")}\n` });
      open = null;
    } else if (open !== null) open.text.push(line);
    else if (fence) open = { fence: fence[1]!, line: index + 2, info: fence[2]!.split(" "), text: [] };
    else if (line.startsWith("## ")) section = line.slice(3);
  }
  if (open !== null) throw new Error(`${page}:${open.line}: the block has no end`);
  return blocks;
}

export function placeOf({ page, line }: Block): string {
  return `${page}:${line}`;
}
