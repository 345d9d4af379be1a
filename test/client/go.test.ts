import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { calls } from "./calls.ts";
import { go, GO_CLIENT } from "./languages.ts";
import { publishing } from "./publishing.ts";

const folder = mkdtempSync(join(tmpdir(), "webhookd-go-"));
afterAll(() => rmSync(folder, { recursive: true }));

const client = go(folder);
if (client === null) it.skip("the Go client, because there is no Go here", () => {});
else {
  it("passes its tests in Go", () => {
    const env = { ...process.env, GOTOOLCHAIN: "local" };
    const tests = ["test", "-timeout", "50s", "./..."];
    const { status, stdout, stderr } = spawnSync("go", tests, { cwd: GO_CLIENT, env, encoding: "utf8" });
    expect(status, stdout + stderr).toBe(0);
  });

  // Each suite ends its languages.
  const once = { ...client, end() {} };
  publishing([once]);
  calls([once]);
  afterAll(() => client.end());
}
