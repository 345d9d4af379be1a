/**
 * Checks comments and commit subjects against the house rules in CONTRIBUTING.md. It is the last part of
 * `npm run check`, and prints each offence with its file and line.
 */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { scriptArguments } from "./arguments.ts";
import { root } from "./root.ts";

/** The folders whose comments are whole sentences. */
const DONE = ["cli", "scripts", "src", "test", "tui"];

/** The last commit before subjects had to follow the rule. */
const BASE = "129787806e8b0ae7a2caa1b3351b37c44ce5ef00";
const SUBJECT_LENGTH = 72;

/**
 * A comment or sentence that begins with one of these words is nearly always a noun phrase that only its author can
 * complete: "Whether it is new.", "Of all senders." The few good sentences among them are easy to rephrase.
 */
const FRAGMENT =
  /^(?:(?:to|of|from|by|with|for|in|on|at) (?:what|whom|which)|what|whether|of|how|those|who|whom|whose|which|where|why|that which)\b(?!['’])/iu;

/** Verbs that look like a past, a participle or a third person, but are imperatives. */
const IMPERATIVE = /(?:eed|bed|hed|bring|ping|ring|string|ss|cus|us|bias|canvas)$/u;

/** Returns why a comment is refused, with the words that it begins with, or null if it may stay. */
export function faultOfComment(comment: string): string | null {
  const text = comment
    .replace(/^[\s*]+/gmu, "")
    .replace(/`[^`]*`/gu, "``")
    .trim();
  const sentences = text.split(/(?<=[.!?])\s+(?=\p{Lu})|\n(?:\n|(?=[-@]))/u);
  for (const sentence of sentences) {
    const plain = sentence.replace(/^(?:- |@param \S+ |@returns? )+/u, "");
    if (FRAGMENT.test(plain)) return `"${plain.split(/\s+/u).slice(0, 4).join(" ")} …" begins as a noun phrase`;
  }
  return null;
}

/** Returns why the subject of a commit is refused, or null if it may stay. */
export function faultOfSubject(subject: string): string | null {
  if ([...subject].length > SUBJECT_LENGTH) return `it is longer than ${SUBJECT_LENGTH} characters`;
  const verb = /^[a-z][a-z0-9/., -]*: ([a-z]+)\b/u.exec(subject)?.[1];
  if (verb === undefined) return 'it is not "area: imperative", both in lower case';
  if (/(?:ed|ing|s)$/u.test(verb) && !IMPERATIVE.test(verb)) return `"${verb}" is not an imperative`;
  return subject.endsWith(".") ? "it ends with a full stop" : null;
}

/** Returns the offences in the comments of one source file. Consecutive `//` lines count as one comment. */
export function faultsOfSource(file: string, source: string): string[] {
  const blocks: { start: number; end: number; text: string }[] = [];
  for (const { type, value, start, end } of parseSync(file, source).comments) {
    const last = blocks.at(-1);
    const alone = source.slice(source.lastIndexOf("\n", start) + 1, start).trim() === "";
    const continues = type === "Line" && alone && last !== undefined && isBlank(source.slice(last.end, start));
    if (continues && source.startsWith("//", last.start)) {
      last.text += `\n${value}`;
      last.end = end;
    } else blocks.push({ start, end, text: value });
  }
  return blocks.flatMap(({ start, text }) => {
    const fault = faultOfComment(text);
    return fault === null ? [] : [`${file}:${source.slice(0, start).split("\n").length}: ${fault}`];
  });
}

/** The comments of languages that the parser does not know, and docstrings. */
const COMMENTS = /\/\*([^]*?)\*\/|^\s*(?:\/\/|#:?)(.*)$|"""([^]*?)"""/gmu;
/** Fields of the API are described in noun phrases, which generated code repeats. */
const GENERATED = /^.*(?:generated|Made) .*description/iu;

/** Returns the offences in a source that is neither TypeScript nor JavaScript. */
export function faultsOfOther(file: string, source: string): string[] {
  if (GENERATED.test(source.slice(0, 300))) return [];
  return [...source.matchAll(COMMENTS)].flatMap(({ index, 0: whole, 1: block, 2: line, 3: docstring }) => {
    const fault = faultOfComment(block ?? line ?? docstring ?? "");
    const start = index + whole.length - whole.trimStart().length;
    return fault === null ? [] : [`${file}:${source.slice(0, start).split("\n").length}: ${fault}`];
  });
}

const isBlank = (between: string): boolean => /^\r?\n[ \t]*$/u.test(between);

function faultsOfFiles(): string[] {
  return DONE.flatMap((name) => {
    const pattern = name.includes("*") ? name : `${name}/**/*.{ts,tsx,js,css,go,py}`;
    const files = globSync(pattern, { cwd: root, exclude: ["**/node_modules/**"] }).toSorted();
    // A folder that was renamed must not drop out of the check.
    if (files.length === 0) return [`scripts/prose.ts: there is no source in ${name}, which DONE lists`];
    return files.flatMap((file) => {
      const faultsOf = /\.(?:tsx?|js)$/u.test(file) ? faultsOfSource : faultsOfOther;
      return faultsOf(file.replaceAll("\\", "/"), readFileSync(join(root, file), "utf8"));
    });
  });
}

/** The environment for git in a given repository. The variables that git sets in a hook would name another one. */
export const OWN_REPOSITORY = {
  ...process.env,
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
};

/** Returns what git prints, or null if there is no git, or `directory` is not a checkout. */
function git(directory: string, ...args: string[]): string | null {
  try {
    const stdio = ["ignore", "pipe", "ignore"] as const;
    return execFileSync("git", args, {
      cwd: directory,
      encoding: "utf8",
      stdio: [...stdio],
      env: OWN_REPOSITORY,
    }).trim();
  } catch {
    return null;
  }
}

/**
 * Returns the offences in the subjects of the commits since `base`. A shallow clone that does not reach back to `base`
 * holds only later commits, so that all of its commits count. Returns none without git, in a source archive, or in a
 * repository without `base`, where the source was copied into another project.
 */
export function faultsOfCommits(directory: string, base: string): string[] {
  // An archive may be unpacked inside another project's checkout: its commits are not ours.
  if (git(directory, "rev-parse", "--show-prefix") !== "") return [];
  const reachesBase = git(directory, "merge-base", "--is-ancestor", base, "HEAD") !== null;
  if (!reachesBase && git(directory, "rev-parse", "--is-shallow-repository") !== "true") return [];
  const range = reachesBase ? [`${base}..HEAD`] : ["HEAD"];
  const log = git(directory, "log", "--no-merges", "--format=%h %s", ...range) ?? "";
  return log.split("\n").flatMap((line) => {
    const [, id, subject] = /^(\S+) ?(.*)$/u.exec(line) ?? [];
    const fault = id === undefined ? null : faultOfSubject(subject!);
    return fault === null ? [] : [`commit ${id} "${subject}": ${fault}`];
  });
}

if (import.meta.main) {
  scriptArguments("node scripts/prose.ts\n\nRefuses comments and commit subjects that break the house rules.", {});
  const comments = faultsOfFiles();
  const commits = faultsOfCommits(root, BASE);
  for (const fault of [...comments, ...commits]) console.error(fault);
  if (comments.length > 0) console.error('Write each comment as a full sentence: "True if …", "The number of …".');
  if (commits.length > 0)
    console.error('Reword each subject to "area: imperative", with git commit --amend or rebase.');
  if (comments.length + commits.length > 0) process.exit(1);
}
