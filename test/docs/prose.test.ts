import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  faultOfComment,
  faultOfSubject,
  faultsOfCommits,
  faultsOfOther,
  faultsOfSource,
  OWN_REPOSITORY,
} from "../../scripts/prose.ts";

const scratchFolder = (): string => mkdtempSync(join(tmpdir(), "webhookd-prose-"));

describe("a comment is refused", () => {
  it.each([
    "Whether it is new.",
    "* What is asked of one endpoint.",
    "*\n   * Of all senders.\n   ",
    "Whom it concerns.",
    "To whom it is sent.",
    "Returns null if there is none. How many there are.",
    "Returns one of:\n* - `a`: fine.\n* - which of them it was.",
    "@param now When it is.\n @returns whether it is so.",
  ])("that begins as a noun phrase: %j", (comment) => {
    expect(faultOfComment(comment)).toMatch(/begins as a noun phrase/u);
  });

  it.each([
    "True if it is new.",
    "The number of attempts, and\n * whether one is in flight.",
    "`what` names the field.",
    "Ofcom has a list. However, it is old.",
    "Whatever happens later does not change the outcome.",
    "That is why it waits.",
  ])("but not if it is a sentence or a label: %j", (comment) => {
    expect(faultOfComment(comment)).toBeNull();
  });
});

describe("in a source file", () => {
  it("every kind of comment is read, and its line is named", () => {
    const source = `// Whether it is new.
const a = 1; // Of all senders.
/** How long it takes. */
export const b = (
  <p title="// What">{/* Who reads it. */ a}</p>
);
`;
    expect(faultsOfSource("a.tsx", source).map((fault) => fault.split(":")[1])).toEqual(["1", "2", "3", "5"]);
  });

  it("neither strings nor the later lines of a comment begin one", () => {
    const source = `// True if the reader knows
// what it waits for, or
// Whether that is known.
const a = "// Whether it is new.";
`;
    expect(faultsOfSource("a.ts", source)).toEqual([]);
  });
});

describe("the subject of a commit is refused", () => {
  it.each([
    ["Say what it does", "area"],
    ["API: refuse a cursor", "area"],
    ["api: Refuse a cursor", "area"],
    ["api:refuse a cursor", "area"],
    ["api: refused a cursor", "imperative"],
    ["api: adding a cursor", "imperative"],
    ["api: fixes a cursor", "imperative"],
    ["api: refuse a cursor.", "full stop"],
    [`api: refuse ${"a".repeat(61)}`, "72 characters"],
  ])("%j", (subject, fault) => {
    expect(faultOfSubject(subject)).toContain(fault);
  });

  it.each(["api: refuse a cursor that was cut short", "cli, tui: pass on a key", `api: refuse ${"ä".repeat(60)}`])(
    "but not %j",
    (subject) => {
      expect(faultOfSubject(subject)).toBeNull();
    },
  );
});

describe("the commits that are read", () => {
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@localhost", ...args], {
      cwd,
      encoding: "utf8",
      env: OWN_REPOSITORY,
    }).trim();
  const commit = (cwd: string, subject: string): string => {
    git(cwd, "commit", "--quiet", "--allow-empty", "-m", subject);
    return git(cwd, "rev-parse", "HEAD");
  };
  const repository = (): { folder: string; base: string; bad: string } => {
    const folder = scratchFolder();
    git(folder, "init", "--quiet");
    commit(folder, "Say it the old way");
    const base = commit(folder, "Say it the old way again");
    const bad = commit(folder, "Fix it");
    commit(folder, "api: refuse it");
    return { folder, base, bad };
  };

  it("is read in Python, Go and CSS too, unless it was generated", () => {
    const source =
      '"""Whether it is new."""\n# The number.\nx = 1  # kept\n// Of all senders.\n/* What finds things */\n';
    expect(faultsOfOther("a.py", source).map((fault) => fault.split(":")[1])).toEqual(["1", "4", "5"]);
    const generated = `// Code generated from the daemon's OpenAPI description by x. DO NOT EDIT.\n// Whether it is new.\n`;
    expect(faultsOfOther("a.go", generated)).toEqual([]);
  });

  it("are those after the base", () => {
    const { folder, base, bad } = repository();
    expect(faultsOfCommits(folder, base)).toEqual([expect.stringContaining(`commit ${bad.slice(0, 7)}`)]);
    expect(faultsOfCommits(folder, bad)).toEqual([]);
  });

  it("are all commits of a shallow clone that begins after the base", () => {
    const { folder, base } = repository();
    const shallow = (depth: number): string[] => {
      const clone = join(scratchFolder(), "clone");
      git(folder, "clone", "--quiet", "--depth", String(depth), `file://${folder}`, clone);
      return faultsOfCommits(clone, base);
    };
    expect(shallow(1)).toEqual([]);
    expect(shallow(2)).toEqual([expect.stringContaining('"Fix it"')]);
    expect(shallow(3)).toEqual([expect.stringContaining('"Fix it"')]);
  });

  it("are none without a repository, in an archive inside another one, and in one without the base", () => {
    const { folder, base } = repository();
    const archive = join(folder, "webhookd");
    mkdirSync(archive);
    expect(faultsOfCommits(archive, base)).toEqual([]);
    expect(faultsOfCommits(scratchFolder(), base)).toEqual([]);
    expect(faultsOfCommits(folder, "0123456789".repeat(4))).toEqual([]);
  });
});
