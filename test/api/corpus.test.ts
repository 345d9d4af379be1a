import { connect, type Socket } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { Store } from "../../src/store/store.ts";
import { ManualClock } from "../harness/clock.ts";
import { bodyOf, generate, Premises, readCorpus, type Entry, type Input } from "./corpus.ts";
import { aConfig, ApiServer, send, sendRaw, type Answer } from "./server.ts";
import { aStore } from "./sqlite.ts";
import { around } from "../harness/store.ts";

const corpus = readCorpus();

let api: ApiServer;
let premises: Premises;

beforeAll(async () => {
  api = await ApiServer.start(await aStore());
  premises = await Premises.make(api);
});

async function answerTo(input: Input, server = api, given = premises): Promise<Answer> {
  // Failed authentications count for a minute, and the corpus has many of them.
  server.clock.advance("1m");
  return send(server.port, input.method!, given.fill(input.path!), given.headersOf(input), bodyOf(input));
}

function expectAnswer(answer: Answer, { expect: { status, code } }: Entry): void {
  expect(answer.status, answer.text).toBe(status);
  if (code === null) return;
  const codes = [answer.body.code, ...(answer.body.errors ?? []).map((error: { code: string }) => error.code)];
  expect(codes).toContain(code);
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  expect(answer.body.request_id).toBe(answer.headers["x-request-id"]);
  if (status === 401) expect(answer.headers["www-authenticate"]).toBe("Bearer");
  if (status === 405) expect(answer.headers.allow).toBeTruthy();
  if ([429, 503, 507].includes(status!)) expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
}

/** Checks the `invariant` sentences of the entries. */
const INVARIANTS: Record<string, (answer: Answer) => void> = {
  "api-089": () => expect(({} as Record<string, unknown>).admin).toBeUndefined(),
  "api-119": () => expect(handedOver()).toContain('"data":{"n":9007199254740993,"m":1.0,"e":1E2,"z":-0,"h":1e400}}'),
  "api-120": () => expect(handedOver()).toContain('"data":{"b":1,"2":2,"1":3}}'),
  "api-122": () => expect(({} as Record<string, unknown>).x).toBeUndefined(),
  "api-144": ({ text }) => expect(text).not.toMatch(/nope|127\.0\.0\.1/),
};

/** Returns the body of the delivery that was created last. */
function handedOver(): string {
  return Buffer.from(api.accepted.at(-1)!.fresh[0]!.body).toString();
}

describe("the corpus of bad input", () => {
  const requests = corpus.filter(
    ({ input }) => input.path !== undefined && !isMany(input) && input.state === undefined,
  );
  it.each(requests)("$id: $why", async (entry) => {
    const answer = await answerTo(entry.input);
    expectAnswer(answer, entry);
    if (entry.expect.invariant !== undefined) INVARIANTS[entry.id]!(answer);
  });

  /** Closes idle connections soon, because each of these requests is read until its connection is closed. */
  const hasty = aStore().then((store) => ApiServer.start(store, { bounds: { keepAliveTimeout: 1 } }));
  const raw = corpus.filter(({ input }) => input.raw_b64 !== undefined || input.raw_gen !== undefined);
  it.each(raw)("$id: $why", async ({ input, expect: { status } }) => {
    const { port } = await hasty;
    const bytes = input.raw_gen === undefined ? Buffer.from(input.raw_b64!, "base64") : generate(input.raw_gen);
    // This resolves when the server has closed the connection: the bytes after a misread request are never read as
    // another request.
    expect(await sendRaw(port, bytes, () => false)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it("leaves no entry out", () => {
    const others = corpus.filter((entry) => !requests.includes(entry) && !raw.includes(entry)).map(({ id }) => id);
    expect(others).toEqual(["api-127", "api-129", "api-170", "api-172", "api-173", "api-174", ...STATES.keys()]);
  });
});

/** True if the input is more than one request. */
function isMany({ parallel, burst, sequence }: Input): boolean {
  return (parallel ?? burst ?? sequence) !== undefined;
}

describe("the corpus of repeated requests", () => {
  it("api-127: the same key with another body", async () => {
    const entry = entryOf("api-127");
    const answers: Answer[] = [];
    for (const step of entry.input.sequence!) answers.push(await answerTo(step));
    expect(answers[0]!.status).toBe(202);
    expectAnswer(answers.at(-1)!, entry);
  });

  it("api-129: fifty at once make one event", async () => {
    const entry = entryOf("api-129");
    const before = await countEvents(api.store);
    const answers = await Promise.all(Array.from({ length: entry.input.parallel! }, () => answerTo(entry.input)));
    for (const answer of answers) expectAnswer(answer, entry);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers["idempotency-replayed"] === undefined)).toHaveLength(1);
    expect(await countEvents(api.store)).toBe(before + 1);
  });

  it("api-174: more than the key's rate", async () => {
    const entry = entryOf("api-174");
    const { count, key_limit_per_s: limit } = entry.input.burst!;
    const config = aConfig({ SERVER_RATE_LIMIT: String(limit) });
    const server = await ApiServer.start(await aStore(), { config });
    const headers = { ...premises.headersOf(entry.input), authorization: `Bearer ${server.adminKey}` };
    const one = () => send(server.port, entry.input.method!, entry.input.path!, headers, entry.input.body);
    const answers: Answer[] = [];
    // Requests are sent 100 at a time, because the server takes at most 512 connections.
    while (answers.length < count) answers.push(...(await Promise.all(Array.from({ length: 100 }, one))));
    const refused = answers.filter(({ status }) => status !== 202);
    // The clock stands still, so the key has only the requests that it had saved up.
    expect(answers.length - refused.length).toBe(limit);
    for (const answer of refused) expectAnswer(answer, entry);
    expect(await countEvents(server.store)).toBe(limit);
    server.clock.advance(Number(refused[0]!.headers["retry-after"]) * 1000);
    expect((await one()).status).toBe(202);
  });
});

describe("the corpus of slow and broken clients", () => {
  it("api-170: drips headers and gets 408", async () => {
    const { input } = entryOf("api-170");
    const [head, { drip, every_ms }] = input.raw_steps as [string, { drip: string; every_ms: number }];
    // `listen.test.ts` waits the real ten seconds. Here it is one second, and the drip is ten times as fast.
    const server = await ApiServer.start(api.store);
    server.server.headersTimeout = 1000;
    const socket = connect(server.port, "127.0.0.1", () => socket.write(head));
    const dripping = setInterval(() => socket.write(drip), every_ms / 10);
    const text = await new Promise<string>((resolve) => {
      socket.on("data", (chunk) => resolve(chunk.toString()));
    });
    clearInterval(dripping);
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1.1 408 /);
  });

  it("api-172: goes away in the middle of its body, and nothing is stored", async () => {
    const [head] = entryOf("api-172").input.raw_steps as [string];
    const before = await countEvents(api.store);
    api.logged.length = 0;
    const socket = connect(api.port, "127.0.0.1");
    await new Promise<void>((resolve) => {
      socket.write(premises.fill(head).replace("host: x", "host: localhost"), () => resolve());
    });
    socket.resetAndDestroy();
    await expect.poll(() => api.logged.length).toBe(1);
    expect(JSON.stringify(api.logged)).not.toMatch(/stack|at /);
    expect(await countEvents(api.store)).toBe(before);
  });

  it("api-173: opens 2,000 connections and sends half a request on each", async () => {
    const { connections, each } = entryOf("api-173").input as { connections: number; each: string };
    const server = await ApiServer.start(api.store);
    const sockets: Socket[] = [];
    for (let index = 0; index < connections; index++) {
      const socket = connect(server.port, "127.0.0.1", () => socket.write(each));
      socket.on("error", () => {});
      sockets.push(socket);
    }
    await expect.poll(() => sockets.filter((socket) => !socket.connecting).length).toBe(connections);
    // This request is answered at once. It takes the place of a connection that never finished its headers.
    const valid = server.get("/healthz").then(
      ({ status }) => status,
      () => "refused",
    );
    expect(await valid).toBe(200);
    expect(sockets.some((socket) => !socket.destroyed)).toBe(true);
    expect(server.logged.length).toBeLessThan(5);
    for (const socket of sockets) socket.destroy();
    await expect
      .poll(async () =>
        server.get("/healthz").then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });
});

/** Brings about each `state` of the corpus. */
const STATES = new Map<string, (store: Store) => Promise<ApiServer>>([
  [
    "api-175", // queue_full
    async (store) => {
      const config = aConfig();
      const limits = { ...config.limits, commitQueue: 0, inFlightBytes: 1 };
      return ApiServer.start(store, { config: { ...config, limits } });
    },
  ],
  [
    "api-176", // disk_full
    async () => ApiServer.start(await aStore(new ManualClock(), { diskFloor: 1 << 20, statfs: fullDisk })),
  ],
  ["api-177", (store) => failingWith(store, new WebhookdError("storage_unavailable", "the disk is read-only"))],
  [
    "api-178", // draining
    async (store) => {
      const server = await ApiServer.start(store);
      server.phase = "stopped";
      return server;
    },
  ],
  ["api-179", (store) => failingWith(store, new Error("SELECT * FROM secrets in /var/lib/webhookd"))],
  ["api-180", (store) => ApiServer.start(store, { config: aConfig({ ENDPOINTS_MAX_PER_TENANT: "1" }) })],
]);

describe("the corpus in a state that is injected", () => {
  const entries = corpus.filter(({ input }) => input.state !== undefined);
  it.each(entries)("$id: $why", async (entry) => {
    const server = await STATES.get(entry.id)!(api.store);
    const before = await countEvents(server.store);
    const headers = { ...premises.headersOf(entry.input), authorization: `Bearer ${server.adminKey}` };
    const answer = await send(server.port, entry.input.method!, entry.input.path!, headers, bodyOf(entry.input));
    expectAnswer(answer, entry);
    expect(answer.text).not.toMatch(/SELECT|\/var|at .*\.ts/);
    expect(server.accepted).toEqual([]);
    expect(await countEvents(server.store)).toBe(before);
  });
});

async function fullDisk() {
  return { bavail: 1, bsize: 4096 };
}

async function failingWith(store: Store, error: Error): Promise<ApiServer> {
  return ApiServer.start(around(store, (verb, call) => (verb === "events.publish" ? Promise.reject(error) : call())));
}

async function countEvents(store: Store): Promise<number> {
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await store.reads.listEvents({ tenant: null, limit: 100, order: "oldest", cursor });
    count += page.data.length;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return count;
}

function entryOf(id: string): Entry {
  return corpus.find((entry) => entry.id === id)!;
}
