import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { onPostgres, TestDaemon } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";
import type { Received } from "../harness/receiver.ts";

function isSigned({ headers, body }: Received, secret: string): boolean {
  const [id, at] = [headers["webhook-id"]!, Number(headers["webhook-timestamp"])];
  const key = verifyingKey(secret);
  return (
    key.verifyBody(body, headers["x-service-signature"]!) &&
    key.verifyStandard(id, at, body, headers["webhook-signature"]!)
  );
}

const notHere = onPostgres ? " (NOT RUN on PostgreSQL: the key of a shared store is not changed while it runs)" : "";

it.skipIf(onPostgres)(
  `secret.key is changed under a daemon that publishes and delivers: none is refused, all are signed rightly${notHere}`,
  async () => {
    const receiver = await receiverOf();
    const daemon = await TestDaemon.start();
    const { id, signing_secret: secret } = await daemon.register(receiver.url, { headers: { "x-token": "kept" } });
    const rows = Array.from({ length: 99 }, () => daemon.register(receiver.url, { events: ["goal.achieved"] }));
    await Promise.all(rows);
    const old = readFileSync(join(daemon.dir, "secret.key"), "utf8");
    const published: string[] = [];
    const publishing = new AbortController();
    // `publish` throws at any response except 202.
    const publishers = [1, 2, 3].map(async () => {
      while (!publishing.signal.aborted) published.push(await daemon.publish());
    });
    while (published.length < 20) await new Promise(setImmediate);
    const before = published.length;
    const rekeying = daemon.request("POST", "/v1/secret-key/rekey");
    const meanwhile = await daemon.register(receiver.url, { events: ["goal.achieved"] });
    const { status, body } = await rekeying;
    const during = published.length;
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { secret_key_file: join(daemon.dir, "secret.key"), damaged: [] },
    });
    expect([body.resealed === 100 || body.resealed === 101, during > before]).toEqual([true, true]);
    expect(readFileSync(body.kept, "utf8")).toBe(old);
    const now = readFileSync(body.secret_key_file, "utf8");
    expect(JSON.stringify(body)).not.toMatch(new RegExp(`${old.trim()}|${now.trim()}`));
    while (published.length < during + 20) await new Promise(setImmediate);
    publishing.abort();
    await Promise.all(publishers);
    await daemon.daemon.idle();
    expect((await daemon.request("GET", `/v1/webhooks/${id}/secret`)).body).toMatchObject({ signing_secret: secret });
    await daemon.stop();

    const restarted = await TestDaemon.start({ dir: daemon.dir });
    published.push(await restarted.publish());
    await restarted.daemon.idle();
    const secretOf = async (endpoint: string) =>
      (await restarted.request("GET", `/v1/webhooks/${endpoint}/secret`)).body;
    expect(await secretOf(id)).toMatchObject({ signing_secret: secret });
    expect(await secretOf(meanwhile.id)).toMatchObject({ signing_secret: meanwhile.signing_secret });
    expect(new Set(receiver.requests.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set(published));
    const wrong = receiver.requests.filter((each) => !isSigned(each, secret) || each.headers["x-token"] !== "kept");
    expect(wrong).toEqual([]);
  },
);

it("a key of one tenant may not change it", async () => {
  const daemon = await TestDaemon.start();
  const { body } = await daemon.request("POST", "/v1/keys", { scopes: ["admin"], tenant: "acme" });
  const authorization = `Bearer ${body.key}`;
  expect(await daemon.request("POST", "/v1/secret-key/rekey", undefined, { authorization })).toMatchObject({
    status: 403,
  });
});
