import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";

/** The last line and the exit code of `npm test` and `npm run test:all`. */
type Ended = readonly [lastLine: string, code: number];

async function ci(test: Ended, all: Ended): Promise<{ code: number; lines: string[] }> {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-ci-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "bin"));
  const cases = [
    `test) printf '${test[0]}\\n'; exit ${test[1]};;`,
    `"run test:all") printf '${all[0]}\\n'; exit ${all[1]};;`,
  ];
  const npm = `#!/bin/sh\necho "npm $*"\ncase "$*" in ${cases.join(" ")} esac\nexit 99\n`;
  for (const [name, text] of [
    ["npm", npm],
    ["tmux", "#!/bin/sh\n"],
  ] as const) {
    writeFileSync(join(dir, "bin", name), text);
    chmodSync(join(dir, "bin", name), 0o755);
  }
  const env = { ...process.env, PATH: `${join(dir, "bin")}${delimiter}${process.env.PATH}`, TMPDIR: dir };
  return new Promise((done) => {
    execFile(resolve(import.meta.dirname, "../.ci/run"), { env }, (error, stdout) =>
      done({ code: Number(error?.code ?? 0), lines: stdout.trim().split("\n") }),
    );
  });
}

it.each<[string, Ended, Ended, sum: string, code: number]>([
  ["adds up both parts", ["900 passed, 0 failed", 0], ["80 passed, 0 failed", 0], "980 passed, 0 failed", 0],
  [
    "counts what was skipped",
    ["9 passed, 0 failed, 2 skipped", 0],
    ["8 passed, 0 failed, 1 skipped", 0],
    "17 passed, 0 failed, 3 skipped",
    0,
  ],
  [
    "goes on to the second part after a failure",
    ["8 passed, 1 failed", 1],
    ["8 passed, 0 failed", 0],
    "16 passed, 1 failed",
    1,
  ],
  ["fails if the second part does", ["9 passed, 0 failed", 0], ["7 passed, 1 failed", 1], "16 passed, 1 failed", 1],
  [
    "counts a part that ends badly after its last test",
    ["9 passed, 0 failed, 1 skipped", 1],
    ["8 passed, 0 failed", 0],
    "17 passed, 1 failed, 1 skipped",
    1,
  ],
  ["counts a part that does not get to its sum", ["Killed", 137], ["8 passed, 0 failed", 0], "8 passed, 1 failed", 1],
  ["counts a part that says nothing", ["", 0], ["8 passed, 0 failed", 0], "8 passed, 1 failed", 1],
])("%s", async (_, test, all, sum, code) => {
  const ended = await ci(test, all);
  expect(ended.lines).not.toContain("The failures again:");
  expect(ended.lines.filter((line) => line.startsWith("npm "))).toEqual(["npm test", "npm run test:all"]);
  expect(ended.lines.at(-1)).toBe(sum);
  expect(ended.code).toBe(code);
});

it("prints the failures of both parts once more before the last line", async () => {
  const failed = (name: string) =>
    [
      "tests pass",
      "⎯⎯ \\033[41mFailed Tests 1\\033[49m ⎯⎯",
      ` FAIL ${name}`,
      "",
      " Test Files  1 failed",
      "1 passed, 1 failed",
    ].join("\\n");
  const { lines } = await ci([failed("first.test.ts"), 1], [failed("second.test.ts"), 1]);
  const again = lines.slice(lines.indexOf("The failures again:") + 1);
  const part = ["⎯⎯ Failed Tests 1 ⎯⎯"];
  expect(again).toEqual([
    ...part,
    " FAIL first.test.ts",
    "",
    ...part,
    " FAIL second.test.ts",
    "",
    "2 passed, 2 failed",
  ]);
});
