import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { buildRecorder } from "../../scripts/power/recorder.ts";
import { cutsPower } from "./program.ts";

const scratch = mkdtempSync(join(tmpdir(), "webhookd-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const recorder = buildRecorder(scratch);

it.skipIf("missing" in recorder)("a power cut loses nothing, wherever it comes", async () => {
  expect(recorder).toHaveProperty("file");
  await cutsPower({ states: 120, controls: 4, seconds: 2, scratch });
});
