import { globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { describe, expect, it } from "vitest";
import { LONG } from "./harness/long-files.ts";
import { PARTS } from "./harness/parts.ts";
import { SLOW_FILES } from "./slow-files.ts";

const FILES = globSync("test/**/*.test.{ts,tsx}");
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
const projectsOf = (command: string) => [...scripts[command]!.matchAll(/--project (\w+)/g)].map(([, name]) => name!);
const partsOf = (file: string) =>
  PARTS.filter(({ include, exclude }) => {
    const is = (pattern: string) => matchesGlob(file, pattern);
    return include.some(is) && !exclude.some(is);
  }).map(({ name }) => name);

describe("the two parts of the tests", () => {
  it("have each test file once", () => {
    expect(FILES.length).toBeGreaterThan(300);
    expect(FILES.filter((file) => partsOf(file).length !== 1)).toEqual([]);
  });

  it("are what npm test and npm run test:all run, each project once", () => {
    expect(projectsOf("test")).toEqual(["alone", "processes", "shared"]);
    expect([...projectsOf("test"), ...projectsOf("test:all")].toSorted()).toEqual(
      PARTS.map(({ name }) => name).toSorted(),
    );
    for (const file of FILES) {
      expect(projectsOf(SLOW_FILES.includes(file) ? "test:all" : "test"), file).toContain(partsOf(file)[0]);
    }
  });

  it("list no file twice, and none that is gone", () => {
    for (const list of [SLOW_FILES, LONG]) {
      expect(list.filter((file, at) => !FILES.includes(file) || list.indexOf(file) !== at)).toEqual([]);
    }
  });

  it("set hooks in test files alone, because files that share a process load other modules once", () => {
    const modules = globSync("test/**/*.{ts,tsx}", { exclude: ["test/**/*.test.{ts,tsx}", "test/harness/hooks.ts"] });
    const setsHook = (file: string) => /^(?:before|after)(?:Each|All)\(/mu.test(readFileSync(file, "utf8"));
    expect(modules).toContain("test/harness/ends.ts");
    expect(modules.filter(setsHook), "use test/harness/ends.ts").toEqual([]);
  });

  it("show within five minutes that a test hangs, and within one if it starts no process", () => {
    for (const { name, testTimeout, hookTimeout, expect: expected } of PARTS) {
      const most = name === "alone" || name === "shared" ? 60_000 : 300_000;
      expect(Math.max(testTimeout, hookTimeout), name).toBeLessThanOrEqual(most);
      expect(expected.poll.timeout, name).toBeLessThan(testTimeout);
    }
  });
});
