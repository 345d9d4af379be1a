import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, it } from "vitest";
import { calls } from "./calls.ts";
import { go } from "./languages.ts";
import { publishing } from "./publishing.ts";

const folder = mkdtempSync(join(tmpdir(), "webhookd-go-"));
afterAll(() => rmSync(folder, { recursive: true }));

const client = go(folder);
if (client === null) it.skip("the Go client, because there is no Go here", () => {});
else {
  // Each suite ends its languages.
  const once = { ...client, end() {} };
  publishing([once]);
  calls([once]);
  afterAll(() => client.end());
}
