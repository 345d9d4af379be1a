import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { silentLog } from "../../src/log.ts";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { openFile } from "../../src/store/sqlite/engine/open-database.ts";
import { ManualClock } from "../harness/clock.ts";
import { aDirectory, onPostgres, TestDaemon, type TestDaemonOptions } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";
import { Box } from "../../src/store/rows/box.ts";

const bytes = (length: number) => new Uint8Array(length).fill(7);
const anotherBox = new Box(bytes(32), bytes);

type Row = Readonly<Record<string, string | number | null>>;
type Damage = (endpoint: string, box: Box) => Row;

/** Values that flipped bits may leave in the row, with the part of the endpoint that they make unreadable. */
const DAMAGES: readonly (readonly [name: string, part: string, damage: Damage])[] = [
  ["a secret sealed with another key", "signing_secret", (id) => ({ secret: anotherBox.seal("x", `${id}:secret`) })],
  ["a secret sealed for another place", "signing_secret", (_, box) => ({ secret: box.seal("x", "ep_other:secret") })],
  [
    "a sealed secret that was cut",
    "signing_secret",
    (id, box) => ({ secret: box.seal("x", `${id}:secret`).slice(0, 20) }),
  ],
  [
    "a seal of the wrong length",
    "signing_secret",
    (id, box) => ({ secret: box.seal("x", `${id}:secret`).replace(/:[^:]+:([^:]+)$/, ":AA:$1") }),
  ],
  ["a secret that is no seal", "signing_secret", () => ({ secret: "\u0000::::" })],
  ["a next secret that does not open", "next_signing_secret", () => ({ next_secret: "v1:x:y:z", switches_at: 1 })],
  ["header values that do not open", "headers", (id) => ({ headers: anotherBox.seal("{}", `${id}:headers`) })],
  ["header values that are no JSON", "headers", (id, box) => ({ headers: box.seal('{"a"', `${id}:headers`) })],
  ["an address that is none", "url", () => ({ url: "ht" })],
  ["types that are no JSON", "events", () => ({ events: '["budget' })],
  ["metadata that is no object", "metadata", () => ({ metadata: "7" })],
  ["a word that is not known", "when_disabled", () => ({ when_disabled: "hxld" })],
  ["a rate that is none", "rate_per_second", () => ({ rate_per_second: -1 })],
];

function damage(dir: string, endpoint: string, to: Damage, which = "id = @id"): void {
  const key = Buffer.from(readFileSync(join(dir, "secret.key"), "utf8").trim(), "hex");
  const row = to(endpoint, new Box(key, bytes));
  const db = openFile(join(dir, "webhookd.db"), { timeout: 1000, nativeBinding: undefined });
  db.pragma("ignore_check_constraints = ON");
  const set = Object.keys(row).map((name) => `${name} = @${name}`);
  db.prepare(`UPDATE endpoint SET ${set.join(", ")} WHERE ${which}`).run({ ...row, id: endpoint });
  db.close();
}

/** Creates two endpoints and one event for both, then damages the row of the first endpoint. */
async function damaged(to: Damage, options: TestDaemonOptions = {}, which = "id = @id") {
  const clock = new ManualClock();
  const [hurt, well] = [await receiverOf(), await receiverOf()];
  const before = await TestDaemon.start({ clock, paused: true, ...options });
  const { id } = await before.register(hurt.url, { headers: { "X-Token": "t0ken" } });
  const other = await before.register(well.url);
  const event = await before.publish();
  await before.stop();
  damage(before.dir, id, to, which);
  const daemon = await TestDaemon.start({ clock, dir: before.dir, ...options });
  await daemon.request("POST", "/v1/resume");
  await daemon.daemon.tick();
  return { clock, daemon, id, other, event, hurt, well };
}

const deliveryTo = (event: any, endpoint: string) => event.deliveries.find((one: any) => one.endpoint === endpoint);

const notHere = onPostgres ? " (NOT RUN on PostgreSQL: it damages the file of SQLite)" : "";

describe.skipIf(onPostgres)(`an endpoint whose row is damaged${notHere}`, () => {
  it.each(DAMAGES)("by %s fails alone, visibly, and keeps its deliveries", async (_name, part, to) => {
    const { daemon, id, other, event, hurt, well } = await damaged(to);
    await well.next();
    const later = await daemon.publish({ n: 2 });
    await well.next();
    await daemon.daemon.idle();
    for (const one of [event, later]) {
      const seen = await daemon.event(one);
      expect(deliveryTo(seen, other.id)).toMatchObject({ status: "delivered" });
      expect(deliveryTo(seen, id)).toMatchObject({ status: "pending", attempts: 0, last_attempt: null });
    }
    expect(hurt.requests).toEqual([]);

    const shown = await daemon.request("GET", `/v1/webhooks/${id}`);
    expect(shown).toMatchObject({ status: 200, body: { damaged: { parts: [part], reason: expect.any(String) } } });
    const { body: list } = await daemon.request("GET", "/v1/webhooks");
    expect(list.data.map((one: any) => [one.id, one.damaged?.parts ?? null])).toEqual([
      [other.id, null],
      [id, [part]],
    ]);
    const { body: status } = await daemon.request("GET", "/v1/status");
    expect(status.damaged_endpoints).toMatchObject({ total: 1, endpoints: [{ endpoint: id, parts: [part] }] });
    expect(JSON.stringify([shown, list, status])).not.toMatch(/t0ken|whsec_/);
  });

  it.each(["signing_secret", "next_signing_secret"])(
    "of its %s is mended by a rotation without an overlap",
    async (part) => {
      const [, , to] = DAMAGES.find(([, of]) => of === part)!;
      const { daemon, id, event, hurt } = await damaged(to);
      const path = `/v1/webhooks/${id}/rotate-secret`;
      expect(await daemon.request("GET", `/v1/webhooks/${id}/secret`)).toMatchObject({
        status: 409,
        body: { code: "endpoint_damaged" },
      });
      expect(await daemon.request("POST", path, { overlap_seconds: 60 })).toMatchObject({
        status: 409,
        body: { code: "endpoint_damaged" },
      });
      const { status, body } = await daemon.request("POST", path, { overlap_seconds: 0 });
      expect(status).toBe(200);
      const received = await hurt.next();
      expect(
        verifyingKey(body.signing_secret).verifyBody(received.body, received.headers["x-service-signature"]!),
      ).toBe(true);
      await daemon.daemon.idle();
      expect(deliveryTo(await daemon.event(event), id)).toMatchObject({ status: "delivered", attempts: 1 });
      expect((await daemon.request("GET", `/v1/webhooks/${id}`)).body.damaged).toBeNull();
      await daemon.daemon.tick();
      expect((await daemon.request("GET", "/v1/status")).body.damaged_endpoints).toMatchObject({ total: 0 });
    },
  );

  it("of its next secret goes on with the current one once the rotation is abandoned", async () => {
    const [, , to] = DAMAGES.find(([, of]) => of === "next_signing_secret")!;
    const { daemon, id, hurt } = await damaged(to);
    const path = `/v1/webhooks/${id}/rotate-secret`;
    expect((await daemon.request("POST", `${path}/complete`)).body.code).toBe("endpoint_damaged");
    expect((await daemon.request("DELETE", path)).status).toBe(204);
    await hurt.next();
  });

  it.each([
    ["headers", { headers: { "x-token": "new" } }, { headers: { "X-Other": "new" } }],
    ["url", { url: "http://127.0.0.1:8080/" }, { description: "x" }],
    ["events", { events: ["budget.exceeded"] }, { url: "http://127.0.0.1:8080/" }],
    ["metadata", { metadata: null }, { enabled: true }],
    ["when_disabled", { when_disabled: "hold" }, { enabled: true }],
    ["rate_per_second", { rate_per_second: null }, { enabled: true }],
  ])("of its %s is mended by a change that says all of it anew", async (part, whole, other) => {
    const [, , to] = DAMAGES.find(([, of]) => of === part)!;
    const { daemon, id } = await damaged(to);
    const refused = await daemon.request("PATCH", `/v1/webhooks/${id}`, other);
    expect(refused).toMatchObject({ status: 409, body: { code: "endpoint_damaged" } });
    expect(refused.body.detail).toContain(part);
    const { status, body } = await daemon.request("PATCH", `/v1/webhooks/${id}`, whole);
    expect([status, body.damaged]).toEqual([200, null]);
  });

  it("cannot be attempted by request, but can be deleted", async () => {
    const { daemon, id, event, hurt } = await damaged(DAMAGES[0]![2]);
    const { id: delivery } = deliveryTo(await daemon.event(event), id);
    const code = async (method: string, path: string) => (await daemon.request(method, path)).body?.code;
    expect(await code("POST", `/v1/webhooks/${id}/test`)).toBe("endpoint_damaged");
    expect(await code("POST", `/v1/webhooks/deliveries/${delivery}/attempt`)).toBe("endpoint_damaged");
    expect(hurt.requests).toEqual([]);
    expect(await code("DELETE", `/v1/webhooks/${id}`)).toBeUndefined();
    await daemon.daemon.tick();
    expect((await daemon.request("GET", "/v1/status")).body.damaged_endpoints).toMatchObject({ total: 0 });
  });

  it("is reported to the operator once, by an alert whose own damage the configuration repairs", async () => {
    const operator = await receiverOf();
    const dir = aDirectory();
    const secretFile = join(dir, "alerts.secret");
    writeFileSync(secretFile, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    const settings = { ALERTS_URL: operator.url, ALERTS_SECRET_FILE: secretFile };
    const logged: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void logged.push(fields) };
    const of = DAMAGES[0]![2];
    const { daemon, id } = await damaged((...given) => of(...given), { settings, dir, log }, "1 = 1");
    await daemon.daemon.tick();
    const { body, headers } = await operator.next();
    const { type, data } = JSON.parse(String(body));
    expect([type, data]).toMatchObject([
      "webhookd.endpoint_damaged",
      { total: 2, endpoints: [{ endpoint: id, tenant: "default", parts: ["signing_secret"] }, {}] },
    ]);
    expect(headers["x-service-signature"]).toMatch(/^[0-9a-f]{64}$/);
    expect(logged.filter((fields) => "parts" in fields)).toHaveLength(2);
    await daemon.daemon.tick();
    expect(operator.requests).toHaveLength(1);
  });

  it("keeps through a restart an attempt that was asked for before, and makes it once it is mended", async () => {
    const clock = new ManualClock();
    const hurt = await receiverOf();
    const before = await TestDaemon.start({ clock, paused: true });
    const { id } = await before.register(hurt.url);
    const event = await before.publish();
    const { id: delivery } = deliveryTo(await before.event(event), id);
    await before.stop();
    damage(before.dir, id, DAMAGES[0]![2]);
    const db = openFile(join(before.dir, "webhookd.db"), { timeout: 1000, nativeBinding: undefined });
    db.exec("INSERT INTO manual_attempt (event, endpoint, urgent) SELECT event, endpoint, 1 FROM delivery");
    db.exec("UPDATE delivery SET status = 3, due_at = NULL, attempts = 1");
    db.close();
    const daemon = await TestDaemon.start({ clock, dir: before.dir });
    await daemon.request("POST", "/v1/resume");
    for (let pass = 0; pass < 3; pass++) await daemon.daemon.tick();
    await daemon.daemon.idle();
    expect([
      hurt.requests.length,
      (await daemon.request("GET", `/v1/webhooks/deliveries/${delivery}`)).body.status,
    ]).toEqual([0, "failed"]);
    await daemon.request("POST", `/v1/webhooks/${id}/rotate-secret`, { overlap_seconds: 0 });
    await daemon.daemon.tick();
    await hurt.next();
  });
});
