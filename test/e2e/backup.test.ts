import { createHmac } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aDirectory, onPostgres, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

const notHere = onPostgres ? " (NOT RUN on PostgreSQL: it makes its backups itself)" : "";

it.skipIf(onPostgres)(
  `a backup taken while publishing holds every event acked before it began, and delivers them elsewhere${notHere}`,
  async () => {
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start({ paused: true });
    const { signing_secret: secret } = await daemon.register(receiver.url);
    // The store is large enough to be copied in several steps.
    const large = { type: "budget.exceeded", data: { text: "x".repeat(250_000) } };
    for (let batch = 0; batch < 5; batch++) {
      await daemon.request("POST", "/v1/webhooks/events/batch", { events: Array.from({ length: 15 }, () => large) });
    }
    const acked: string[] = [];
    const publishing = new AbortController();
    const publishers = [1, 2, 3].map(async () => {
      while (!publishing.signal.aborted) acked.push(await daemon.publish());
    });
    while (acked.length < 20) await new Promise(setImmediate);
    const before = [...acked];
    const { status, body: backup } = await daemon.request("POST", "/v1/backups");
    const during = acked.length - before.length;
    publishing.abort();
    await Promise.all(publishers);
    expect(status).toBe(201);
    expect(backup.file.startsWith(join(daemon.dir, "backups", "webhookd-"))).toBe(true);
    expect(during).toBeGreaterThan(0);
    expect((await daemon.request("GET", "/v1/status")).body.backup).toMatchObject({ last: backup, failure: null });
    await daemon.stop();

    const dir = aDirectory();
    copyFileSync(backup.file, join(dir, "webhookd.db"));
    for (const key of ["secret.key", "admin.key"]) copyFileSync(join(daemon.dir, key), join(dir, key));
    const elsewhere = await TestDaemon.start({ dir });
    expect((await elsewhere.request("GET", "/v1/status")).body.paused).toMatchObject({
      by: "restore",
      reason: expect.stringContaining(`the backup of ${backup.at}`),
    });
    await elsewhere.request("POST", "/v1/resume");
    await elsewhere.daemon.idle();
    expect(receiver.requests).toHaveLength(backup.events);
    const received = new Set(receiver.requests.map(({ headers }) => headers["webhook-id"]));
    expect(before.filter((id) => !received.has(id))).toEqual([]);
    for (const { headers, body } of receiver.requests) {
      expect(headers["x-service-signature"]).toBe(createHmac("sha256", secret).update(body).digest("hex"));
    }
    await receiver.close();
  },
);
