import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { allNames, allTexts, type Names } from "./names.ts";

const PAGE = readFileSync("docs/glossary.md", "utf8");
const [WORDS = "", UNUSED = ""] = PAGE.split("\n## Words that are not used\n");
/** Places where the names come only from the code, and users do not see them. */
const CODE = new Set(["table", "type"]);

interface Entry {
  readonly word: string;
  /** `[place, name]`, such as `["HTTP", "held_expired"]`. */
  readonly names: readonly (readonly [string, string])[];
}

const entries: Entry[] = WORDS.split("\n### ")
  .slice(1)
  .map((text) => ({ word: text.split("\n")[0]!, names: namesOf(text) }));

function namesOf(text: string): [string, string][] {
  const item = /\n- (\*\*[^]+?)(?:\n\n|\n*$)/.exec(text)?.[1] ?? "";
  return item.split(/\s+·\s+/).flatMap((part) => {
    const [, place, list = ""] = /^\*\*(\w+)\*\*\s([^]+)$/.exec(part) ?? [];
    return place === undefined
      ? []
      : [...list.matchAll(/`([^`]+)`/g)].map(([, name]) => [place, name!] as [string, string]);
  });
}

/** Counts the names in lists of names in another way, to check the parser. */
function quotedIn(text: string): number {
  const lists = text.split("\n\n").flatMap((part) => part.split("\n- ").slice(1));
  return lists.reduce((sum, list) => sum + (list.match(/`[^`]+`/g)?.length ?? 0), 0);
}

interface Unused {
  readonly not: readonly string[];
  readonly say: string;
  readonly where: readonly string[];
}

const unused: Unused[] = UNUSED.split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(1)
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, not = "", say = "", where = ""]) => ({ not: not.split(" · "), say, where: where.split(", ") }));

/** Splits names into words: `retryEvent` and `retry_event` both become `retry event`. */
function apart(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll(/[_\-./]/g, " ")
    .toLowerCase();
}

function holds(text: string, phrase: string): boolean {
  return ` ${apart(text).replaceAll(/[^a-z0-9]+/g, " ")} `.includes(` ${apart(phrase)} `);
}

/** Returns the places that use a word which the glossary forbids. */
function misused(names: Names, texts: ReadonlyMap<string, string>): string[] {
  const places = [
    ...Object.entries(names).flatMap(([place, set]) =>
      CODE.has(place) ? [] : [...set].map((name) => ["names", `${place} ${name}`, name] as const),
    ),
    ...[...texts].map(([place, text]) => ["texts", place, text] as const),
  ];
  return unused.flatMap(({ not, say, where }) =>
    not.flatMap((phrase) =>
      places
        .filter(([kind, , text]) => where.includes(kind) && holds(text, phrase))
        .map(([, place]) => `${place}: not "${phrase}", but ${say}`),
    ),
  );
}

describe("docs/glossary.md", async () => {
  const names = await allNames();
  const texts = allTexts();

  it("has each word once, and says what it is", () => {
    const words = entries.map(({ word }) => word);
    expect(words.length).toBeGreaterThan(30);
    expect(new Set(words).size).toBe(words.length);
    // A line break inside a list must not hide a name from the parser.
    const places = new Set([...WORDS.matchAll(/\*\*(\w+)\*\*\s`/g)].map(([, place]) => place));
    expect([...places].toSorted()).toEqual(Object.keys(names).toSorted());
    expect(entries.flatMap((entry) => entry.names).length).toBe(quotedIn(WORDS));
  });

  it("finds names in every place", () => {
    for (const [place, set] of Object.entries(names)) expect(set.size, place).toBeGreaterThan(4);
    for (const [place, text] of texts) expect(text.trim(), place).not.toBe("");
  });

  it.each(entries.filter(({ names: given }) => given.length > 0).map((entry) => [entry.word, entry] as const))(
    "%s has the names that there are",
    (_word, entry) => {
      for (const [place, name] of entry.names) expect(names[place], `${place} ${name}`).toContain(name);
    },
  );

  it("keeps other words out of what a user reads", () => {
    expect(misused(names, texts)).toEqual([]);
  });

  it("would find a word that crept in", () => {
    const wrong: Names = { ...names, HTTP: new Set(["retryEvent"]), metric: new Set(["webhookd_brake"]) };
    const texts = new Map([["webhookd x", "Pause this endpoint, and resend"]]);
    expect(misused(wrong, texts)).toEqual([
      'HTTP retryEvent: not "retryEvent", but replayEvent',
      'metric webhookd_brake: not "brake", but pause, resume',
      'webhookd x: not "pause this endpoint", but disable',
      'webhookd x: not "resend", but replay, retry',
    ]);
  });
});
