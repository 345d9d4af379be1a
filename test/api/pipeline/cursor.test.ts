import { beforeAll, describe, expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const LISTS = [
  "/v1/webhooks",
  "/v1/webhooks/events",
  "/v1/webhooks/deliveries",
  "/v1/keys",
  "/v1/tenants",
  "/v1/audit",
];

let api: ApiServer;

beforeAll(async () => {
  api = await ApiServer.start(await aStore());
  for (const tenant of ["a", "b"]) {
    await api.post(`/v1/webhooks?tenant=${tenant}`, { url: "https://example.com/h", events: ["budget.exceeded"] });
    await anEvent(api.store, api.clock.now(), "failed", { tenant });
    await api.addKey(["read"], tenant);
  }
});

async function cursorOf(path: string): Promise<string> {
  const { body } = await api.get(`${path}${path.includes("?") ? "&" : "?"}limit=1`);
  expect(body.next_cursor).toEqual(expect.any(String));
  return body.next_cursor;
}

async function expectRefused(path: string, cursor: string): Promise<void> {
  const { status, body } = await api.get(`${path}${path.includes("?") ? "&" : "?"}cursor=${cursor}`);
  expect({ status, code: body.code, pointer: body.errors?.[0].pointer }, cursor).toEqual({
    status: 422,
    code: "invalid_query",
    pointer: "?cursor",
  });
}

describe.each(LISTS)("a cursor of %s", (path) => {
  it("goes on where the page ended, for as long as the rows are there", async () => {
    const cursor = await cursorOf(path);
    const first = await api.get(`${path}?limit=1`);
    const { status, body } = await api.get(`${path}?limit=1&cursor=${cursor}`);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(1);
    expect(body.data).not.toEqual(first.body.data);
  });

  it("is refused when its end is missing", async () => {
    await expectRefused(path, (await cursorOf(path)).slice(0, -1));
  });
});

describe("a cursor is refused", () => {
  const path = "/v1/webhooks/events";

  it("when it was cut, at whatever place", async () => {
    const cursor = await cursorOf(path);
    for (let length = 1; length < cursor.length; length++) await expectRefused(path, cursor.slice(0, length));
    await expectRefused(path, cursor.slice(1));
    await expectRefused(path, `${cursor}A`);
  });

  it("when a character of it was changed", async () => {
    const cursor = await cursorOf(path);
    for (let at = 0; at < cursor.length; at++) {
      const other = cursor[at] === "A" ? "B" : "A";
      await expectRefused(path, `${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`);
    }
  });

  it("with other filters, and for another tenant, because rows before it would be missing", async () => {
    const cursor = await cursorOf(path);
    await expectRefused(`${path}?status=failed`, cursor);
    await expectRefused(`${path}?tenant=a`, cursor);
    const own = await api.addKey(["read"], "b");
    expect((await api.get(`${path}?cursor=${cursor}`, { key: own })).status).toBe(422);
    const failed = await cursorOf(`${path}?status=failed`);
    expect((await api.get(`${path}?status=failed&limit=5&total=true&cursor=${failed}`)).status).toBe(200);
  });

  it("by another list, in the other order, and by another store", async () => {
    const cursor = await cursorOf(path);
    await expectRefused("/v1/webhooks/deliveries", cursor);
    expect((await api.get(`${path}?order=oldest&cursor=${cursor}`)).status).toBe(422);
    const other = await ApiServer.start(await aStore());
    expect((await other.get(`${path}?cursor=${cursor}`)).status).toBe(422);
  });
});
