/** Plants bugs in a copy of the checkout, one at a time, and runs the tests on it. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { planted, type Mutant } from "./mutant.ts";

export interface Verdict {
  /** The first test that failed. Null if none did. */
  readonly caughtBy: string | null;
  readonly seconds: number;
}

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** A copy of the files that git tracks, or would add. It uses the checkout's own packages. */
export class Copy {
  readonly dir = mkdtempSync(join(tmpdir(), "webhookd-mutants-"));

  constructor(root: string) {
    const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
    if (listed.status !== 0) throw new Error("git cannot list the files of this checkout");
    for (const file of listed.stdout.toString().split("\0").filter(Boolean)) {
      // git lists a removed file until the removal is committed.
      if (!existsSync(join(root, file))) continue;
      mkdirSync(dirname(join(this.dir, file)), { recursive: true });
      cpSync(join(root, file), join(this.dir, file), { force: true, recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.dir, "node_modules"));
  }

  /** With `whole`, runs all tests if the named ones caught nothing. */
  judge(mutant: Mutant, whole: boolean): Verdict {
    const file = join(this.dir, mutant.file);
    const sound = readFileSync(file, "utf8");
    const startedAt = performance.now();
    writeFileSync(file, planted(this.dir, mutant));
    try {
      const caughtBy = this.#firstFailure(mutant.tests) ?? (whole ? this.#firstFailure([]) : null);
      return { caughtBy, seconds: (performance.now() - startedAt) / 1000 };
    } finally {
      writeFileSync(file, sound);
    }
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Runs all tests if none are named. */
  #firstFailure(tests: readonly string[]): string | null {
    const results = join(this.dir, "results.json");
    rmSync(results, { force: true });
    const vitest = join(this.dir, "node_modules", "vitest", "vitest.mjs");
    const options = ["run", "--bail=1", "--reporter=json", `--outputFile=${results}`, ...tests];
    const { status, stderr } = spawnSync(process.execPath, [vitest, ...options], { cwd: this.dir, env: environment() });
    if (status === 0) return null;
    try {
      return failureIn(JSON.parse(readFileSync(results, "utf8")) as Results, this.dir);
    } catch (error) {
      throw new Error(`the tests could not be run: ${stderr.toString().slice(-500)}`, { cause: error });
    }
  }
}

/** Leaves out variables of vitest: if a test runs this, the inner vitest would take them for its own. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_OPTIONS|TEST$)/.test(name)));
}

function failureIn({ testResults }: Results, root: string): string {
  for (const { name, status, assertionResults } of testResults) {
    const file = name.replace(`${root}/`, "");
    const failed = assertionResults.find((one) => one.status === "failed");
    if (failed !== undefined) return `${file}: ${failed.fullName}`;
    if (status === "failed") return `${file}, which does not load`;
  }
  return "a test that was not reported";
}
