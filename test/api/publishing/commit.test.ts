/** Responses of the API if COMMIT fails in the real store: the request was valid, but the event is not stored. */
import { join } from "node:path";
import type { Statement } from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { onPrepare, sqliteError } from "../../harness/prepared.ts";
import { addEndpoint } from "../../store/fixtures.ts";
import { open, temporaryDirectory } from "../../store/stores.ts";
import { ApiServer } from "../server.ts";

const EVENTS = "/v1/webhooks/events";
const FAULTS = [
  ["SQLITE_FULL", 507],
  ["SQLITE_BUSY", 503],
  ["SQLITE_IOERR_WRITE", 503],
] as const;

async function serve() {
  const dir = temporaryDirectory();
  const disk = { fault: null as string | null };
  const detach = onPrepare(join(dir, "webhookd.db"), (sql, make) => {
    const made = make() as Statement<[]>;
    if (sql !== "COMMIT") return made;
    const run = () => {
      if (disk.fault !== null) throw sqliteError(disk.fault);
      made.run();
    };
    return { run } as never;
  });
  const store = await open({ dir, onFault() {} });
  detach();
  await addEndpoint(store, { events: ["budget.exceeded"] });
  return { api: await ApiServer.start(store), disk, store };
}

const event = (more: object = {}) => ({ type: "budget.exceeded", data: { a: 1 }, ...more });
const everything = { tenant: null, limit: 10, order: "oldest" } as const;

describe("a commit that fails after the request was read", () => {
  it.each(FAULTS)("is no 2xx, and nothing is sent: %s", async (fault, expected) => {
    const { api, disk } = await serve();
    disk.fault = fault;
    // These requests share a commit, as they do under load.
    const answers = await Promise.all([
      api.post(EVENTS, event()),
      api.post(EVENTS, event()),
      api.post(`${EVENTS}/batch`, { events: [event(), event()] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([expected, expected, expected]);
    expect(api.accepted).toEqual([]);
  });

  it.each(FAULTS.slice(0, 2))("passes, and the same key then makes one event: %s", async (fault, expected) => {
    const { api, disk, store } = await serve();
    const publish = () => api.post(EVENTS, event(), { headers: { "idempotency-key": "k1" } });
    disk.fault = fault;
    expect((await publish()).status).toBe(expected);
    disk.fault = null;
    await store.upkeep.checkSpace();
    const [first, again] = [await publish(), await publish()];
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body.id).toBe(first.body.id);
    const { data } = (await store.reads.listEvents(everything))!;
    expect(data.map(({ id }) => id)).toEqual([first.body.id]);
  });

  it("makes no endpoint", async () => {
    const { api, disk, store } = await serve();
    disk.fault = "SQLITE_FULL";
    const endpoint = { url: "https://example.com/h", events: ["budget.exceeded"] };
    expect((await api.post("/v1/webhooks", endpoint)).status).toBe(507);
    disk.fault = null;
    expect((await store.endpoints.list({ ...everything }))!.data).toHaveLength(1);
  });
});
