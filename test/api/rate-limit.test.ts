import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { request } from "node:http";
import { FakeStore } from "./fake-store.ts";
import { aConfig, ApiServer } from "./server.ts";

const EVENT = { type: "budget.exceeded", data: {} };
const EVENTS = "/v1/webhooks/events";

async function statuses(count: number, run: () => Promise<{ status: number }>): Promise<number[]> {
  const answers = [];
  for (let at = 0; at < count; at++) answers.push((await run()).status);
  return answers;
}

it("holds each key to its own rate, and gives it back with time", async () => {
  const api = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "2" }) });
  const other = await api.addKey(["publish"]);
  const publish = (key: string) => () => api.post(EVENTS, EVENT, { key });
  expect(await statuses(3, publish(api.adminKey))).toEqual([202, 202, 429]);
  expect(await statuses(3, publish(other))).toEqual([202, 202, 429]);
  // Counted before it is known what there is at the path; whoever has no key is not counted at all.
  expect((await api.get("/nope")).status).toBe(429);
  expect((await api.get("/nope", { key: null })).status).toBe(401);
  expect((await api.get("/healthz")).status).toBe(200);
  api.clock.advance("500ms");
  expect(await statuses(2, publish(api.adminKey))).toEqual([202, 429]);
});

it("sets no rate unless it is asked for, and none for the unix socket", async () => {
  const free = await ApiServer.start(new FakeStore().asStore());
  expect(new Set(await statuses(50, () => free.post(EVENTS, EVENT)))).toEqual(new Set([202]));
  const dir = mkdtempSync(join(tmpdir(), "webhookd-rate-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const socket = join(dir, "s.sock");
  await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "1" }), socket });
  const get = () =>
    new Promise<{ status: number }>((resolve, reject) => {
      const req = request({ socketPath: socket, path: "/nope" }, (res) => {
        res.resume();
        resolve({ status: res.statusCode! });
      });
      req.on("error", reject).end();
    });
  expect(await statuses(3, get)).toEqual([404, 404, 404]);
});
