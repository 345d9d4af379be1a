import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { draft, withCapacity, START } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

it("keeps no plain hash of what an idempotency key was used for", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const fingerprint = Buffer.from("the plain hash of a weak secret!");
  const idempotency = { key: "canary-key", fingerprint, expiresAt: START + 1000 };
  await store.events.publish([draft({ idempotency })], START, withCapacity);
  await store.idempotency.remember({ tenant: "default", ...idempotency, key: "canary-other" }, "{}");
  await store.close();
  const bytes = readFileSync(join(dir, "webhookd.db"));
  expect(bytes.includes("canary-key") && bytes.includes("canary-other")).toBe(true);
  expect(bytes.includes(fingerprint)).toBe(false);
});
