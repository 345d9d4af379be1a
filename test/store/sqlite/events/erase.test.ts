import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { addEndpoint, again, answered, draft, ended, publishOne, withCapacity, START } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

it.each(["a short text", "a long one, over many pages"])(
  "leaves no byte of an erased event in the file: %s",
  async (size) => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    await addEndpoint(store);
    await store.events.publish(Array(50).fill(draft()), START, withCapacity);
    const filler = "x".repeat(size.startsWith("a short") ? 10 : 100_000);
    const data = Buffer.from(`{"filler":"${filler}","said":"canary-of-the-payload"}`);
    const { id, fresh } = await publishOne(store, { data });
    const more = {
      responseBody: Buffer.from("canary-of-the-answer"),
      responseHeaders: { server: "canary-of-a-header" },
    };
    const outcome = answered(503, more);
    await store.deliveries.record([ended(fresh[0]!, { status: "pending", retry: 1, dueAt: START + 1 }, { outcome })]);
    await store.deliveries.record([again({ ...fresh[0]!, number: 2, retry: 1 }, START + 2)]);
    const success = { outcome: answered(200, more) };
    await store.deliveries.record([ended({ ...fresh[0]!, number: 3, retry: 2 }, { status: "delivered" }, success)]);
    // The log's content must be in the file before it can be erased there.
    const before = await reopened(store, dir);
    expect(bytesOf(dir)).toContain("canary-of-the-payload");
    expect(bytesOf(dir)).toContain("canary-of-the-answer");
    await before.events.erase(null, id, START);
    await before.close();
    expect(bytesOf(dir)).not.toMatch(/canary-of/);
  },
);

async function reopened(store: Awaited<ReturnType<typeof open>>, dir: string) {
  await store.close();
  return open({ dir });
}

function bytesOf(dir: string): string {
  return readFileSync(join(dir, "webhookd.db"), "latin1");
}
