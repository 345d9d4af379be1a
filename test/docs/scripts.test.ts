import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const SCRIPTS = {
  sim: "sim.ts",
  mutants: "mutants/main.ts",
  crash: "crash/main.ts",
  power: "power/main.ts",
  damage: "damage/main.ts",
  fuzz: "fuzz/main.ts",
  soak: "soak/main.ts",
  route: "route.ts",
  bench: "bench/main.ts",
};

describe.concurrent("the commands for developers", () => {
  it.each(Object.entries(SCRIPTS))(
    "%s refuses what it does not know, and says how it is called",
    async (name, file) => {
      const { code, stdout, stderr } = await called(file, "--secnods");
      expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
      expect(stderr).toMatch(new RegExp(`^Unknown option '--secnods'\\.\n\nnpm run ${name} -- `, "u"));
    },
  );

  it("say how they are called when asked", async () => {
    const { code, stdout, stderr } = await called(SCRIPTS.soak, "--help");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^npm run soak -- /u);
  });
});

function called(file: string, argument: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [join(ROOT, "scripts", file), argument], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode!, stdout, stderr }),
    );
  });
}
