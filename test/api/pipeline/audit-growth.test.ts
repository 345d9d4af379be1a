import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { AuditTrail } from "../../../src/api/pipeline/audit-trail.ts";
import { AUDIT_ACTIONS } from "../../../src/domain/caller.ts";
import { WebhookdError, type ErrorCode } from "../../../src/domain/errors.ts";
import { silentLog } from "../../../src/log.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";
import { ManualClock } from "../../harness/clock.ts";
import { open, temporaryDirectory } from "../../store/stores.ts";

const MINUTE = 60_000;
const CODES: readonly ErrorCode[] = ["forbidden", "not_found", "validation_failed", "rate_limited"];
/** At 1,000 calls a second there would be 60,000, but only the first few of a kind make a difference. */
const CALLS_A_MINUTE = 500;

it("grows by less than 1 MiB in an hour of refused calls, whatever they ask for", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const clock = new ManualClock();
  const trail = new AuditTrail({ store, log: silentLog, clock });
  const db = new Database(join(dir, "webhookd.db"), { readonly: true });
  const bytes = () =>
    Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
  const before = bytes();
  const who = { keyId: `key_${"0".repeat(26)}`, tenant: "a".repeat(64), scopes: ["metrics"] } as const;
  const principal = { ...who, isPortal: false, endpoints: null, account: null };
  for (let minute = 0; minute < 60; minute++) {
    const calls = Array.from({ length: CALLS_A_MINUTE }, (_, at) => {
      const action = AUDIT_ACTIONS[at % AUDIT_ACTIONS.length]!;
      const code = CODES[Math.floor(at / AUDIT_ACTIONS.length) % CODES.length]!;
      const requestId = `req_${String(minute * CALLS_A_MINUTE + at).padStart(26, "0")}`;
      const object = () => `ep_${"0".repeat(26)}`;
      const act = { action, principal, peer: null, object, requestId, now: minute * MINUTE };
      return trail.keep(act, async () => {
        throw new WebhookdError(code, "refused");
      });
    });
    for (const each of await Promise.allSettled(calls)) expect(each.status).toBe("rejected");
  }
  expect(bytes() - before).toBeLessThan(1024 * 1024);
  db.close();
  await store.close();
});

/** Returns a server with an endpoint, and a function that makes calls in a loop. */
async function serve() {
  const api = await ApiServer.start(await aStore());
  const { body } = await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] });
  const log = async (action: string) => {
    const { data } = (await api.get(`/v1/audit?order=oldest&action=${action}`)).body;
    return data.map(({ at, last_at: lastAt, count }: Record<string, unknown>) => [at, lastAt, count]);
  };
  return { api, path: `/v1/webhooks/${body.id}`, log };
}

it("counts repeated reads of a secret in one entry an hour, before any is answered", async () => {
  const { api, path, log } = await serve();
  const read = () => api.get(`${path}/secret`);
  expect((await Promise.all(Array.from({ length: 20 }, read))).map(({ status }) => status)).toEqual(
    Array.from({ length: 20 }, () => 200),
  );
  api.clock.advance("59m");
  await read();
  expect(await log("secret.read")).toEqual([["2026-11-20T09:55:00.000Z", "2026-11-20T10:54:00.000Z", 21]]);
  await api.get(`${path}/secret`, { key: await api.addKey(["secrets"]) });
  api.clock.advance("1m");
  await read();
  expect((await log("secret.read")).map((each: unknown[]) => each[2])).toEqual([21, 1, 1]);
});

it("keeps the first three changes of a kind in a minute, and counts the others in the third", async () => {
  const { api, path, log } = await serve();
  const change = (text: string) => api.request("PATCH", path, { body: JSON.stringify({ description: text }) });
  for (let count = 0; count < 10; count++) await change(`text ${count}`);
  expect((await log("endpoint.update")).map((each: unknown[]) => each[2])).toEqual([1, 1, 8]);
  api.clock.advance("1m");
  await change("later");
  expect((await log("endpoint.update")).map((each: unknown[]) => each[2])).toEqual([1, 1, 8, 1]);
});

it("counts refused calls in the third of a kind, within a second", async () => {
  const { api, path, log } = await serve();
  const key = await api.addKey(["read"]);
  for (let count = 0; count < 10; count++) await api.get(`${path}/secret`, { key });
  expect((await log("secret.read")).map((each: unknown[]) => each[2])).toEqual([1, 1, 1]);
  api.clock.advance("1s");
  await expect.poll(async () => (await log("secret.read")).map((each: unknown[]) => each[2])).toEqual([1, 1, 8]);
});

it("does not answer with a secret that was read again if that cannot be written down", async () => {
  const { api, path } = await serve();
  await api.get(`${path}/secret`);
  Object.assign(api.store.audit, { count: () => Promise.reject(new WebhookdError("storage_unavailable", "broken")) });
  expect(await api.get(`${path}/secret`)).toMatchObject({ status: 503, body: { code: "storage_unavailable" } });
});
