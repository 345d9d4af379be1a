import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { webhookd } from "../../cli/front/dispatch.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

const FOLDER = "test/corpora/documents";

it("the types of a document are imported, published, and sent as samples; the second import does nothing", async () => {
  const dir = aDirectory();
  const daemon = await TestDaemon.start({ dir });
  const key = join(dir, "admin.key");
  const types = async (...words: string[]) => {
    const io = new FakeIo();
    const code = await webhookd(["types", ...words, "--url", daemon.url, "--key-file", key], io);
    return { code, out: io.out, err: io.err };
  };
  const [billing, forge] = [join(FOLDER, "billing.openapi.yaml"), join(FOLDER, "forge.openapi.json")];

  // One of its types refers to another document.
  const refused = await types("import", billing, "--yes");
  expect(refused).toMatchObject({ code: 1, out: "" });
  expect(refused.err).toMatch(/^invoice\.finalized +added +-$/m);
  expect(refused.err).toMatch(/^ {2}rates\.published refers to another document, .+; put it into this one$/m);
  expect(refused.err).toContain("1 of 4 types cannot be imported");
  expect((await types("list", "--ids", "invoice.*")).out).toBe("");

  const plan = await types("import", billing, "--dry-run", "--skip");
  expect(plan).toMatchObject({ code: 0, err: "3 added, 1 refused. Nothing was done.\n" });
  expect((await types("list", "--ids", "invoice.*")).out).toBe("");

  const done = await types("import", billing, "--skip", "--yes");
  expect(done).toMatchObject({ code: 0, out: "Imported: 3 added, 1 refused.\n" });
  expect((await types("list", "--ids", "invoice.*")).out).toBe("invoice.finalized\ninvoice.payment_failed\n");
  expect((await types("import", billing, "--only", "invoice.*", "--yes")).out).toMatch(
    /unchanged[^]+There is nothing to import\.\n$/,
  );
  expect(await types("import", forge, "--skip", "--yes")).toMatchObject({ code: 0 });

  const receiver = await TestReceiver.start();
  const { id } = await daemon.register(receiver.url, { events: ["invoice.*"] });
  const test = async (type: string) => {
    expect((await daemon.request("POST", `/v1/webhooks/${id}/test`, { type })).status).toBe(202);
    await daemon.daemon.idle();
    return JSON.parse(receiver.requests.at(-1)!.body.toString()).data as unknown;
  };
  expect(await test("invoice.finalized")).toMatchObject({ id: "inv_8Gq2", number: "L-2026-004112" });
  expect(await test("dispute.opened")).toMatchObject({ evidence: { kind: "document" } });
  expect((await types("list", "--ids", "--deprecated")).out).toBe("invoice.payment_failed\n");
  await receiver.close();
  await daemon.stop();
});

it("a type of the specification and one of the configuration are refused by name", async () => {
  const dir = aDirectory();
  const own = { name: "order.shipped", description: "", source: "example", schema: {}, sample: {} } as const;
  const daemon = await TestDaemon.start({ dir, eventTypes: [own] });
  const key = join(dir, "admin.key");
  const webhooks = { "goal.achieved": { post: {} }, "order.shipped": { post: {} }, "order.lost": { post: {} } };
  writeFileSync(join(dir, "a.json"), JSON.stringify({ openapi: "3.1.0", webhooks }));
  const io = new FakeIo();
  const words = ["types", "import", join(dir, "a.json"), "--dry-run", "--json", "--url", daemon.url, "--key-file", key];
  expect(await webhookd(words, io)).toBe(8);
  expect(JSON.parse(io.out)).toEqual({
    data: [
      { name: "goal.achieved", result: "refused", changed: [], reason: expect.stringMatching(/fixed by the specif/) },
      { name: "order.shipped", result: "refused", changed: [], reason: expect.stringMatching(/\[\[event_types\]\]/) },
      { name: "order.lost", result: "added", changed: [], reason: null },
    ],
    dry_run: true,
  });
  await daemon.stop();
});
