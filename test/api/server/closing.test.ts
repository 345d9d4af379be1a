import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, Server as NetServer, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { stopListening, waiting } from "../../../src/api/server/connections.ts";
import { type NodeHandler, closeAll, type Listener } from "../../../src/api/server/listener.ts";
import { openListener, type TcpParts } from "../../../src/api/server/listen.ts";
import { silentLog } from "../../../src/log.ts";
import { caFile, certificate } from "../../harness/tls.ts";
import { send } from "../server.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const HOST = "127.0.0.1";
const GET = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
/** The time that a listener gives publishers for their last requests. */
const LAST_REQUESTS_MS = 250;
const hello: NodeHandler = (_req, res) => void res.end("hello");

const open = new Set<Listener>();
const dialled = new Set<Socket>();

afterEach(async () => {
  for (const socket of dialled) socket.destroy();
  dialled.clear();
  vi.restoreAllMocks();
  for (const listener of open) await listener.close(0);
  open.clear();
});

async function listen(handler = hello, parts: Partial<TcpParts> = {}): Promise<Listener> {
  const web: TcpParts = { log: silentLog, reject: (_error, socket) => socket.destroy(), ...parts };
  const listener = await openListener(handler, { host: HOST, port: 0, ...web });
  open.add(listener);
  return listener;
}

function portOf({ url }: Listener): number {
  return Number(new URL(url).port);
}

async function dial(listener: Listener): Promise<Socket> {
  const socket = connect(portOf(listener), HOST).on("error", () => {});
  dialled.add(socket);
  await once(socket, "connect");
  return socket;
}

/** Opens a connection that stays open after one response. */
async function kept(listener: Listener): Promise<Socket> {
  const socket = await dial(listener);
  socket.write(GET);
  await once(socket, "data");
  return socket;
}

/** Returns everything that is read until the other side closes the connection. */
async function rest(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

/** Runs `run` just before the listener stops listening. */
function atTheEnd({ server }: Listener, run: () => void): void {
  const { close } = NetServer.prototype;
  vi.spyOn(NetServer.prototype, "close").mockImplementation(function (this: NetServer, ...given) {
    if (this === server && this.listening) run();
    return close.apply(this, given);
  });
}

/** Blocks the event loop, as a slow commit does. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A thread of publishers. It reports when all got one response, and later how each of them ended. */
const CROWD = `
const { connect } = require("node:net");
const { parentPort, workerData: { request, ...place } } = require("node:worker_threads");
const ask = () => new Promise((resolve) => {
  let answer = "", how = "cut off", wroteAt = null;
  const socket = connect(place, () => {
    wroteAt = Number(process.hrtime.bigint()) / 1e6;
    socket.write(request);
  });
  socket.on("data", (chunk) => (answer += chunk)).on("error", ({ code }) => (how = code));
  socket.on("close", () => resolve(answer || { how, wroteAt }));
  socket.on("data", () => answer.endsWith("hello") && socket.end());
});
const crowd = Array.from({ length: 40 }, () => ask());
const untilTheEnd = async (answer) => (typeof answer === "string" ? ask().then(untilTheEnd) : answer);
Promise.all(crowd).then(() => parentPort.postMessage("answered"));
Promise.all(crowd.map((asked) => asked.then(untilTheEnd))).then((ends) => parentPort.postMessage(ends));
`;

/** The last connection of a publisher, which had no response. */
interface End {
  readonly how: string;
  /** When it wrote its request, by `monotonic()`. Null if it never did. */
  readonly wroteAt: number | null;
}

function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

async function crowdAt(listener: Listener): Promise<{ readonly ends: Promise<End[]> }> {
  const workerData = { port: portOf(listener), host: HOST, request: GET };
  const crowd = new Worker(CROWD, { eval: true, workerData });
  await once(crowd, "message");
  return { ends: once(crowd, "message").then(([ends]) => ends as End[]) };
}

describe("closing", () => {
  it("answers what came over an idle connection while the process was busy", async () => {
    const listener = await listen();
    const idle = await dial(listener);
    const closed = listener.close(10_000);
    idle.write(GET);
    block(500);
    expect(await rest(idle)).toMatch(/^HTTP\/1.1 200 [^]*hello/);
    await closed;
  });

  it("answers what comes over an idle connection a moment later, as from a publisher far away", async () => {
    const listener = await listen();
    const idle = await dial(listener);
    const closed = listener.close(10_000);
    // Both waits are timers of this process, so that a busy machine cannot change their order.
    setTimeout(() => idle.write(GET), 150);
    expect(await rest(idle)).toMatch(/^HTTP\/1.1 200 [^]*hello/);
    await closed;
  });

  it("is prepared by answers that end their connection, while others are still taken", async () => {
    const listener = await listen();
    const [idle, silent] = [await dial(listener), await kept(listener)];
    const gone = once(silent, "close");
    const left = listener.leave();
    idle.write(GET);
    expect(await rest(idle)).toMatch(/\r\nConnection: close\r\n/i);
    expect((await send(portOf(listener), "GET", "/", {})).status).toBe(200);
    await left;
    expect((await send(portOf(listener), "GET", "/", {})).status).toBe(200);
    await closeAll([listener], 10_000, () => {});
    await gone;
  });

  it("ends a connection also with an answer that was under way before", async () => {
    const asked = Promise.withResolvers<() => void>();
    const listener = await listen((_req, res) => asked.resolve(() => res.end("late")));
    const socket = await dial(listener);
    socket.write(GET);
    const answer = await asked.promise;
    const left = listener.leave();
    answer();
    expect(await rest(socket)).toMatch(/\r\nConnection: close\r\n[^]*late/i);
    await left;
  });

  it("answers each of a chain of requests that come one turn after the other, when the last connections are cut", async () => {
    const chain: Socket[] = [];
    let next = 0;
    const listener = await listen((_req, res) => {
      // This request is written in the turn that read the previous one, so it has arrived on the next connection when
      // the turn ends.
      if (next > 0) chain[next++]?.write(GET);
      res.end("hello");
    });
    for (let count = 0; count < 20; count++) chain.push(await kept(listener));
    const answers = chain.map(rest);
    atTheEnd(listener, () => chain[next++]!.write(GET));
    await closeAll([listener], 10_000, () => {});
    expect((await Promise.all(answers)).filter((answer) => !answer.includes("hello"))).toEqual([]);
    expect(next).toBeGreaterThanOrEqual(chain.length);
  });

  it("cuts off nobody whose request has come, of many who connect anew without a pause, even if it is interrupted", async () => {
    const listener = await listen();
    const crowd = await crowdAt(listener);
    let stoppedAt = 0;
    atTheEnd(listener, () => {
      // Other programs may run right before the closing.
      block(200);
      stoppedAt = monotonic();
    });
    await closeAll([listener], 10_000, () => {});
    const ends = await crowd.ends;
    // On a busy machine, a publisher may wait for its turn for longer than it is given after it has connected.
    const isLate = ({ wroteAt }: End) => wroteAt === null || wroteAt > stoppedAt + LAST_REQUESTS_MS;
    expect(ends.filter((end) => end.how !== "ECONNREFUSED" && !isLate(end))).toEqual([]);
    expect(ends).toHaveLength(40);
  });

  // In one of twenty crowds the system told a client that it was connected, although the queue of connections was full.
  const repeats = Number(process.env["WEBHOOKD_CLOSINGS"] ?? 1) - 1;
  it("cuts off nobody who is half connected", { repeats, timeout: 300_000 + 20_000 * repeats }, async () => {
    const listener = await listen();
    const crowd = await crowdAt(listener);
    await stopListening(listener.server);
    expect((await crowd.ends).map(({ how }) => how)).toEqual(Array.from({ length: 40 }, () => "ECONNREFUSED"));
  });

  it.runIf(process.platform === "linux")("knows who waits before anybody is taken", async () => {
    const listener = await listen();
    const bound = listener.server.address() as AddressInfo;
    const crowd = new Worker(CROWD, { eval: true, workerData: { port: bound.port, host: HOST, request: GET } });
    await once(crowd, "online");
    while (waiting(bound)!.length < 40) block(1);
    expect(new Set(waiting(bound)!.map(({ port }) => port)).size).toBe(40);
    await closeAll([listener], 10_000, () => {});
    await once(crowd, "message");
    expect(waiting(bound)).toEqual([]);
  });

  it("reports that no more connections are accepted before the accepted ones send a request", async () => {
    let isClosed = false;
    const listener = await listen((_req, res) => res.end(isClosed ? "closed" : "open"));
    const taken = await dial(listener);
    await closeAll([listener], 10_000, () => {
      isClosed = true;
      taken.write(GET);
    });
    expect(await rest(taken)).toMatch(/closed$/);
  });

  it("waits for a running request and takes no new ones", async () => {
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const listener = await listen((_req, res) => {
      asked.resolve();
      unawaited(answer.promise.then(() => res.end("late")));
    });
    const running = send(portOf(listener), "GET", "/", {});
    await asked.promise;
    const closed = listener.close(10_000);
    await expect(send(portOf(listener), "GET", "/", {})).rejects.toThrow("ECONNREFUSED");
    answer.resolve();
    expect((await running).text).toBe("late");
    await closed;
  });

  it("waits for a running request over TLS", async () => {
    const asked = Promise.withResolvers<() => void>();
    const good = { ...certificate("good"), fingerprint: "", validFrom: 0, validUntil: 0 };
    const listener = await listen((_req, res) => asked.resolve(() => res.end("late")), { certificate: good });
    const options = { host: HOST, port: portOf(listener), ca: readFileSync(caFile), servername: "localhost" };
    const socket = connectTls({ ...options, checkServerIdentity: () => undefined }).on("error", () => {});
    dialled.add(socket);
    socket.write(GET);
    const answer = await asked.promise;
    const closed = listener.close(10_000);
    const heard = rest(socket);
    await wait(2 * LAST_REQUESTS_MS);
    answer();
    expect(await heard).toMatch(/late$/);
    await closed;
  });

  it("cuts what is left at the deadline", async () => {
    const asked = Promise.withResolvers<void>();
    const listener = await listen(() => asked.resolve());
    const running = expect(send(portOf(listener), "GET", "/", {})).rejects.toThrow(/hang up|ECONNRESET/);
    await asked.promise;
    await listener.close(20);
    await running;
  });

  it("reads once more what came, when the process was busy past the deadline", async () => {
    const listener = await listen();
    const idle = await dial(listener);
    const closed = listener.close(20);
    idle.write(GET);
    block(100);
    expect(await rest(idle)).toMatch(/^HTTP\/1.1 200 [^]*hello/);
    await closed;
  });

  it("does not wait for a connection on which nothing comes", async () => {
    const listener = await listen();
    const idle = await dial(listener);
    const gone = new Promise((resolve) => idle.once("close", resolve));
    await listener.close(10_000);
    await gone;
  });
});
