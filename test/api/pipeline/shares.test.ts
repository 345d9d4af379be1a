import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer, type Answer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const EVENTS = "/v1/webhooks/events";
const EVENT = { type: "budget.exceeded", data: {} };

/** Starts an API with a unix socket, whose commits happen when the test says so. */
async function serve(settings: Record<string, string> = {}) {
  const fake = new FakeStore();
  const commit = Promise.withResolvers<void>();
  fake.publishing = () => commit.promise;
  const dir = mkdtempSync(join(tmpdir(), "webhookd-shares-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const socket = join(dir, "s.sock");
  const api = await ApiServer.start(fake.asStore(), { config: aConfig(settings), socket });
  return { api, socket, commit: commit.resolve };
}

/** Waits until `count` of the requests are refused, and returns those. All others wait for their commit. */
async function refusals(answers: readonly Promise<Answer>[], count: number): Promise<Answer[]> {
  const refused: Answer[] = [];
  for (const answer of answers) unawaited(answer.then((each) => void (each.status > 299 && refused.push(each))));
  await expect.poll(() => refused.length).toBe(count);
  return refused;
}

function overSocket(socketPath: string, path: string, body?: object): Promise<number> {
  const headers = { host: "localhost", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const req = request({ socketPath, path, method, headers }, (res) => {
      res.resume();
      resolve(res.statusCode!);
      if (path.endsWith("/stream")) res.destroy();
    });
    req.on("error", reject);
    req.end(body && JSON.stringify(body));
  });
}

describe("publishes that wait for their commit", () => {
  it("are three quarters of one key's, and the rest is for others", async () => {
    const { api, commit } = await serve({ LIMITS_COMMIT_QUEUE: "40" });
    const [greedy, other] = [await api.addKey(["publish"], "a"), await api.addKey(["publish"], "b")];
    const flood = Array.from({ length: 60 }, () => api.post(EVENTS, EVENT, { key: greedy }));
    const refused = await refusals(flood, 30);
    for (const { status, headers, body } of refused) {
      expect({ status, wait: headers["retry-after"], code: body.code }).toEqual({
        status: 429,
        wait: "1",
        code: "rate_limited",
      });
    }
    const victims = Array.from({ length: 5 }, () => api.post(EVENTS, EVENT, { key: other }));
    // After this response the server has read the victims' requests too.
    await api.get("/healthz");
    commit();
    expect((await Promise.all(victims)).map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect((await api.post(EVENTS, EVENT, { key: greedy })).status).toBe(202);
  });

  it("count for the tenant, however many keys it has", async () => {
    const { api, commit } = await serve({ LIMITS_COMMIT_QUEUE: "40" });
    const keys = await Promise.all(Array.from({ length: 60 }, () => api.addKey(["publish"], "a")));
    await refusals(
      keys.map((key) => api.post(EVENTS, EVENT, { key })),
      30,
    );
    const other = api.post(EVENTS, EVENT, { key: await api.addKey(["publish"], "b") });
    await api.get("/healthz");
    commit();
    expect((await other).status).toBe(202);
  });

  it("share the bytes that may be in memory as well", async () => {
    const { api, commit } = await serve({ LIMITS_IN_FLIGHT_BYTES: "64KiB", SERVER_MAX_EVENT_BYTES: "64KiB" });
    const [greedy, other] = [await api.addKey(["publish"], "a"), await api.addKey(["publish"], "b")];
    const large = { ...EVENT, data: { x: "x".repeat(4000) } };
    const flood = Array.from({ length: 30 }, () => api.post(EVENTS, large, { key: greedy }));
    const refused = await refusals(flood, 17);
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(["rate_limited"]));
    const victim = api.post(EVENTS, large, { key: other });
    await api.get("/healthz");
    commit();
    expect((await victim).status).toBe(202);
  });

  it("over the unix socket are the operator's own, and are taken when nobody else's are", async () => {
    const { api, socket, commit } = await serve({ LIMITS_COMMIT_QUEUE: "4" });
    const keys = await Promise.all(Array.from({ length: 8 }, (_, at) => api.addKey(["publish"], `t${at}`)));
    const flood = keys.map((key) => api.post(EVENTS, EVENT, { key }));
    const refused = await refusals(flood, 4);
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(["overloaded"]));
    const operators = overSocket(socket, EVENTS, EVENT);
    await api.get("/healthz");
    commit();
    expect(await operators).toBe(202);
  });
});

describe("streams", () => {
  function open(api: ApiServer, key: string): Promise<string> {
    const socket = connect(api.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(`GET /v1/webhooks/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`);
    return new Promise((resolve) => socket.once("data", (chunk) => resolve(chunk.toString().slice(9, 12))));
  }

  it("are not all one key's, nor the operator's to lose", async () => {
    const { api, socket } = await serve();
    const greedy = await api.addKey(["read"], "a");
    const opened = await Promise.all(Array.from({ length: 200 }, () => open(api, greedy)));
    expect(opened.filter((status) => status === "200")).toHaveLength(128);
    expect(opened.filter((status) => status === "429")).toHaveLength(72);
    for (let others = 0; others < 10; others++) expect(await open(api, await api.addKey(["read"], "b"))).toBe("200");
    expect(await overSocket(socket, "/v1/webhooks/stream")).toBe(200);
  });

  it("that end make room", async () => {
    const { api } = await serve();
    const greedy = await api.addKey(["read"], "a");
    const sockets = Array.from({ length: 128 }, () => connect(api.port, "127.0.0.1"));
    for (const socket of sockets) {
      socket.write(`GET /v1/webhooks/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${greedy}\r\n\r\n`);
    }
    await expect.poll(() => api.feed.listeners).toBe(128);
    expect(await open(api, greedy)).toBe("429");
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => api.feed.listeners).toBe(0);
    expect(await open(api, greedy)).toBe("200");
  });
});

it("leaves reads to others while one key waits for as many as it may", async () => {
  const store = await aStore();
  const api = await ApiServer.start(store);
  const list = store.reads.listEvents.bind(store.reads);
  const look = Promise.withResolvers<void>();
  Object.assign(store.reads, {
    listEvents: async (...asked: Parameters<typeof list>) => look.promise.then(() => list(...asked)),
  });
  const [greedy, other] = [await api.addKey(["read"], "a"), await api.addKey(["read"], "b")];
  await refusals(
    Array.from({ length: 128 }, () => api.get(EVENTS, { key: greedy })),
    32,
  );
  const victim = api.get(EVENTS, { key: other });
  await api.get("/healthz");
  look.resolve();
  expect((await victim).status).toBe(200);
});

it("gives back what a publish held as soon as it is answered, however long its answer and its connection are", async () => {
  const { api, commit } = await serve({ LIMITS_COMMIT_QUEUE: "8" });
  commit();
  const publisher = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => publisher.destroy());
  const headers = { authorization: `Bearer ${await api.addKey(["publish"])}`, "content-type": "application/json" };
  const body = JSON.stringify({ events: Array.from({ length: 1000 }, () => EVENT) });
  for (let count = 0; count < 12; count++) {
    const [status, length] = await new Promise<[number, number]>((resolve, reject) => {
      const options = { port: api.port, path: `${EVENTS}/batch`, method: "POST", headers, agent: publisher };
      const sent = request(options, (res) => {
        let bytes = 0;
        res.on("data", (piece: Buffer) => (bytes += piece.length)).on("end", () => resolve([res.statusCode!, bytes]));
      });
      sent.on("error", reject).end(body);
    });
    expect(status).toBe(202);
    expect(length).toBeGreaterThan(64 * 1024);
  }
});

it("counts a long answer among the reads of its key until the client has taken it", async () => {
  const store = await aStore();
  const api = await ApiServer.start(store);
  for (let count = 0; count < 20; count++) {
    const data = Buffer.from(JSON.stringify({ text: "x".repeat(400_000) }));
    await anEvent(store, api.clock.now(), "delivered", { data });
  }
  const key = await api.addKey(["read"]);
  const taken = new Promise<Socket>((resolve) => api.server.once("connection", resolve));
  const idle = connect(api.port, "127.0.0.1").pause();
  onTestFinished(() => void idle.destroy());
  const head = `host: localhost\r\nauthorization: Bearer ${key}`;
  // Four of these responses are longer than the system's buffers for a connection.
  idle.write(`GET ${EVENTS}?include=data HTTP/1.1\r\n${head}\r\n\r\n`.repeat(4));
  const server = await taken;
  await expect.poll(() => server.writableLength).toBeGreaterThan(0);
  const list = store.reads.listEvents.bind(store.reads);
  const look = Promise.withResolvers<void>();
  Object.assign(store.reads, {
    listEvents: async (...asked: Parameters<typeof list>) => look.promise.then(() => list(...asked)),
  });
  const refused: Answer[] = [];
  const reads = Array.from({ length: 128 }, () => api.get(EVENTS, { key }));
  for (const read of reads) unawaited(read.then((each) => void (each.status === 429 && refused.push(each))));
  await expect.poll(() => refused.length).toBeGreaterThan(32);
  look.resolve();
  await Promise.all(reads);
});

it("takes no fifty-first open job of a tenant, and takes it when one has ended", async () => {
  const api = await ApiServer.start(await aStore());
  await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] });
  await anEvent(api.store, api.clock.now(), "failed");
  const body = { action: "replay", filter: { status: "failed" }, rate_per_second: 1 };
  const make = (tenant = "default") => api.post(`/v1/webhooks/jobs?tenant=${tenant}`, body);
  const made: Answer[] = [];
  for (let count = 0; count < 50; count++) made.push(await make());
  expect(new Set(made.map(({ status }) => status))).toEqual(new Set([202]));
  const over = await make();
  expect({ status: over.status, code: over.body.code, wait: over.headers["retry-after"] }).toEqual({
    status: 429,
    code: "rate_limited",
    wait: "30",
  });
  expect((await make("other")).status).toBe(202);
  await api.request("POST", `/v1/webhooks/jobs/${made[0]!.body.id}/cancel`);
  expect((await make()).status).toBe(202);
});

it("takes no fifty-first open job where all of them are asked for at once", async () => {
  const store = await aStore();
  const api = await ApiServer.start(store);
  await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] });
  await anEvent(store, api.clock.now(), "failed");
  const all = Promise.withResolvers<void>();
  let left = 60;
  const arrived = () => void (--left === 0 && all.resolve());
  const add = store.jobs.add.bind(store.jobs);
  // No job is created until each request has arrived here or was refused.
  Object.assign(store.jobs, {
    add: (...job: Parameters<typeof add>) => {
      arrived();
      return all.promise.then(() => add(...job));
    },
  });
  const make = async () => {
    const answer = await api.post("/v1/webhooks/jobs", { action: "replay", filter: { status: "failed" } });
    if (answer.status !== 202) arrived();
    return answer;
  };
  const made = await Promise.all(Array.from({ length: 60 }, make));
  expect(made.filter(({ status }) => status === 202)).toHaveLength(50);
  expect(new Set(made.flatMap(({ body: { code } }) => code ?? []))).toEqual(new Set(["rate_limited"]));
});
