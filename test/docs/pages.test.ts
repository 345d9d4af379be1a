import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { webhookd } from "../../cli/front/dispatch.ts";
import { loadConfig } from "../../src/config.ts";
import { withoutSecrets } from "../../src/config/inputs.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { inputs } from "../config/inputs.ts";
import { blocksOf, PAGES, placeOf, type Block } from "./blocks.ts";
import { brokenCitations } from "./citations.ts";

/** The rule of a block is the first word after its language. It says how the block is tested. */
const RULES: Record<string, string> = {
  run: "typed by test/docs/typed.test.ts in a shell against a daemon, with ids for `ep_…` and the like, and stand-ins for systemd, sudo, the places of a host and a person who is asked",
  "run=checkout": "the same, in the checkout's folder",
  root: "needs root, systemd or Docker: its syntax is checked, and every command of webhookd in it is one that there is",
  words: "ids and places are made up: every command of webhookd in it is one that there is",
  build: "takes minutes and is tested by test/package: its syntax is checked, and the npm scripts in it are there",
  config: "a part of webhookd.toml: loaded",
  shown: "another program's configuration, or a picture: shown, not run",
};
/** Sections whose blocks have a test of their own. */
const ELSEWHERE: Record<string, string> = {
  "From a transaction to a delivery": "test/outbox/page.test.ts",
  "From your language": "test/outbox/page.test.ts",
  "The first event": "test/process/first-run.test.ts",
};

const all = PAGES.flatMap(blocksOf);
const of = (...rules: string[]) => all.filter(({ rule }) => rules.includes(rule[0] ?? ""));
const here = (block: Block) => [placeOf(block), block] as const;

describe("every block of the pages", () => {
  it.each(all.map(here))("%s has a rule by which it is tested", (_place, { rule, section }) => {
    if (section in ELSEWHERE && rule.length === 0) return;
    expect(Object.keys(RULES), "write one after the language of the block").toContain(rule[0] ?? "");
  });

  it.each(of("run", "run=checkout", "root", "words", "build").map(here))(
    "%s is one that bash can read",
    (_place, { text }) => {
      expect(spawnSync("bash", ["-n"], { input: text, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
    },
  );

  it.each(of("root", "words").map(here))("%s has commands of webhookd that there are", async (_place, { text }) => {
    // A user, an image and a unit are called webhookd too, so only lines that begin with the command count.
    const commands = /^(?:sudo -u \w+ (?:--preserve-env=\w+ )?|docker exec webhookd |scripts\/)?webhookd (.+)$/gm;
    for (const [, line] of text.replaceAll("\\\n", " ").matchAll(commands)) {
      const io = new FakeIo();
      const words = wordsOf(line!);
      expect([await webhookd(words, io, async () => 0), io.err], line).toEqual([0, ""]);
    }
  });

  it.each(of("build").map(here))("%s runs scripts of package.json", (_place, { text }) => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: object };
    const named = [...text.matchAll(/^npm (?:run )?([\w:-]+)/gm)].map(([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it.each(of("config").map(here))("%s is a configuration that holds", (_place, { text }) => {
    const files = { "/srv/app/webhookd.toml": text };
    // The files with secrets that a page names are not here.
    expect(() => loadConfig(withoutSecrets(inputs({ files })))).not.toThrow();
  });
});

/** Splits a line as a shell would, as far as the pages need it. */
function wordsOf(line: string): string[] {
  const words = line.replace(/(^|\s)#.*$/, "").match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
}

it("runs what other sections of the pages leave to tests of their own", () => {
  for (const [section, place] of Object.entries(ELSEWHERE)) {
    expect(all.map((block) => block.section)).toContain(section);
    expect(readFileSync(place, "utf8"), place).toContain(section);
  }
});

/** Returns the anchors that GitHub creates for headings. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

it("names no file that is not there, in pages and in comments", () => {
  expect(brokenCitations()).toEqual([]);
});

it("leads to places that there are", () => {
  for (const page of globSync(["*.md", "docs/**/*.md"])) {
    for (const [, target = "", anchor] of readFileSync(page, "utf8").matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)) {
      const path = target === "" ? page : relative(".", new URL(target, pathToFileURL(page)).pathname);
      expect(existsSync(path), `${page}: ${target}`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(path), `${page}: ${path}#${anchor}`).toContain(anchor);
    }
  }
});
