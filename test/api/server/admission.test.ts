import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Bounds } from "../../../src/api/server/listener.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

const EVENTS = "/v1/webhooks/events";
const MIB = 1024 * 1024;
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

interface Caller {
  readonly socket: Socket;
  /** Everything that the server sends before it closes the connection. */
  readonly said: Promise<string>;
}

function dial(port: number, address = "127.0.0.1"): Caller {
  const socket = connect({ port, host: "127.0.0.1", localAddress: address });
  sockets.add(socket);
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  socket.on("error", () => {});
  return { socket, said: new Promise((resolve) => socket.once("close", () => resolve(text))) };
}

/** Returns the headers of a publish whose body follows later. */
function headers(key: string | null, length: number, more = ""): string {
  const authorization = key === null ? "" : `authorization: Bearer ${key}\r\n`;
  const framing = length < 0 ? "transfer-encoding: chunked" : `content-length: ${length}`;
  const about = `host: 127.0.0.1\r\ncontent-type: application/json\r\n${framing}\r\n`;
  return `POST ${EVENTS} HTTP/1.1\r\n${about}${authorization}${more}\r\n`;
}

async function serve(settings: Record<string, string> = {}, bounds: Partial<Bounds> = {}) {
  const fake = new FakeStore();
  const api = await ApiServer.start(fake.asStore(), { config: aConfig(settings), bounds });
  const taken: Socket[] = [];
  api.server.on("connection", (socket) => void taken.push(socket));
  return { fake, api, taken, read: () => taken.reduce((sum, socket) => sum + socket.bytesRead, 0) };
}

describe("who has no good key", () => {
  it.each([
    ["no key", null, 3 * MIB],
    ["a key that is none", "x", 3 * MIB],
    ["no key, and a body in chunks", null, -1],
  ])("is answered and parted with before its body is read: %s", async (_, key, length) => {
    const { api, read } = await serve();
    const piece = Buffer.alloc(MIB, length < 0 ? "100000\r\n" : "x");
    const callers = Array.from({ length: 40 }, () => dial(api.port));
    for (const { socket } of callers) {
      socket.write(headers(key, length));
      for (let sent = 0; sent < 3; sent++) socket.write(piece);
    }
    const answers = await Promise.all(callers.map(({ said }) => said));
    // The system delivers the bytes in pieces. Only one was read.
    expect(read() / callers.length).toBeLessThan(0.1 * MIB);
    const statuses = answers.map((text) => text.slice(9, 12));
    expect(new Set(statuses.filter((status) => status !== ""))).toEqual(
      key === null ? new Set(["401"]) : new Set(["401", "429"]),
    );
  });

  it("hears so although it is still sending, and that the connection is over", async () => {
    const { api } = await serve();
    const { socket, said } = dial(api.port);
    socket.write(headers(null, 3 * MIB));
    const answer = await said;
    expect(answer).toMatch(/^HTTP\/1.1 401 [^]*\r\nconnection: close\r\n/i);
    expect(answer).toContain('"code":"unauthorized"');
  });

  it("is cut all the same if it never reads its answer", async () => {
    // The time limit of requests is off, so that it cannot be what cuts the connection.
    const { api, taken } = await serve({}, { requestTimeout: 0 });
    const { socket } = dial(api.port);
    socket.pause();
    socket.write(headers(null, 3 * MIB));
    await expect.poll(() => taken[0]?.destroyed).toBe(true);
  });

  it("keeps its connection where what is left to read is little", async () => {
    const { api } = await serve();
    const { socket, said } = dial(api.port);
    const body = "x".repeat(10_000);
    socket.write(headers(null, body.length) + body);
    socket.write(`GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`);
    expect((await said).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
  });
});

describe("who asks before sending a body", () => {
  const EXPECT = "expect: 100-continue\r\n";

  it("is told to continue with a valid key", async () => {
    const { api, fake } = await serve();
    const { socket, said } = dial(api.port);
    const body = '{"type":"goal.achieved","data":{}}';
    socket.once("data", (chunk) => {
      expect(chunk.toString()).toMatch(/^HTTP\/1.1 100 /);
      socket.write(body);
    });
    socket.write(headers(api.adminKey, body.length, `connection: close\r\n${EXPECT}`));
    expect(await said).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 202 /);
    expect(fake.drafts).toHaveLength(1);
  });

  it.each([
    ["without a key", null, 100, 401],
    ["with a body that is too large", "admin", 3 * MIB, 413],
  ])("is not, %s", async (_, key, length, status) => {
    const { api } = await serve();
    const { socket, said } = dial(api.port);
    socket.write(headers(key === null ? null : api.adminKey, length, EXPECT));
    expect(await said).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});

describe("when connections run out", () => {
  const HALF = "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n";

  async function connected({ socket }: Caller): Promise<void> {
    if (socket.connecting) await new Promise((resolve) => socket.once("connect", resolve));
  }

  it("who never finishes its headers gives way, and every publish is taken", async () => {
    const { api } = await serve();
    const slow = Array.from({ length: 700 }, () => dial(api.port));
    for (const { socket } of slow) socket.write(HALF);
    await Promise.all(slow.map(connected));
    for (let times = 0; times < 100; times++) {
      expect((await api.post(EVENTS, { type: "goal.achieved", data: {} })).status).toBe(202);
    }
    const first = await slow[0]!.said;
    expect(first).toMatch(/^HTTP\/1.1 503 [^]*\r\nretry-after: 1\r\n/);
    expect(first).toContain('"code":"overloaded"');
  });

  it("the peer that holds most gives way to others with what is idle, but not with what is under way", async () => {
    const { api, fake } = await serve({}, { maxConnections: 16 });
    const hog = Array.from({ length: 14 }, () => dial(api.port, "127.0.0.2"));
    const commits: (() => void)[] = [];
    fake.publishing = () => new Promise((resolve) => void commits.push(resolve));
    const body = '{"type":"goal.achieved","data":{}}';
    const answered = [...hog.entries()].map(async ([index, { socket }]) => {
      if (index >= 7) return void socket.write(headers(api.adminKey, body.length) + body);
      socket.write(`${HALF}\r\n`);
      await new Promise((resolve) => socket.once("data", resolve));
    });
    await Promise.all(answered);
    await expect.poll(() => commits.length).toBe(7);
    // The peer gets no more connections. Another peer does.
    expect(await dial(api.port, "127.0.0.2").said).toBe("");
    const others = Array.from({ length: 7 }, () => dial(api.port, "127.0.0.3"));
    for (const { socket } of others) {
      socket.write(`${HALF}\r\n`);
      await new Promise((resolve) => socket.once("data", resolve));
    }
    expect(others.every(({ socket }) => !socket.destroyed)).toBe(true);
    for (const commit of commits) commit();
    for (const { socket } of hog.slice(7)) {
      const [chunk] = await new Promise<Buffer[]>((resolve) => socket.once("data", (data) => resolve([data])));
      expect(chunk!.toString()).toMatch(/^HTTP\/1.1 202 /);
    }
  });
});
