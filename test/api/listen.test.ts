import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { request, Server as HttpServer } from "node:http";
import diagnostics from "node:diagnostics_channel";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { NodeHandler } from "../../src/api/app.ts";
import { ListenError, openListener } from "../../src/api/listen.ts";
import type { Listener, ListenerParts } from "../../src/api/listener.ts";
import { openSocket } from "../../src/api/socket.ts";
import { silentLog } from "../../src/log.ts";
import { send } from "./server.ts";

const HOST = "127.0.0.1";
const hello: NodeHandler = (_req, res) => void res.end("hello");
const web: ListenerParts = { log: silentLog, reject: (_error, socket) => socket.destroy() };

const open = new Set<Listener>();
const directories = new Set<string>();

afterEach(async () => {
  for (const listener of open) await listener.close(0);
  open.clear();
  for (const dir of directories) rmSync(dir, { recursive: true });
  directories.clear();
});

async function listenOn(port: number, handler = hello, host = HOST): Promise<Listener> {
  const listener = await openListener(handler, { host, port, ...web });
  open.add(listener);
  return listener;
}

async function socketAt(path: string, mode = 0o600, group?: string) {
  const socket = await openSocket(hello, { path, mode, group, ...web });
  if (!("refused" in socket)) open.add(socket);
  return socket;
}

function portOf({ url }: Listener): number {
  return Number(new URL(url).port);
}

/** Binds the first ports that HTTP servers are about to bind. */
function stealPorts(count: number) {
  const stolen: number[] = [];
  const servers: Server[] = [];
  const steal = (message: unknown) => {
    const { server, options } = message as { server: unknown; options: { port: number } };
    if (!(server instanceof HttpServer) || stolen.length >= count) return;
    stolen.push(options.port);
    servers.push(createServer().listen(options.port, HOST));
  };
  const channel = "tracing:net.server.listen:asyncStart";
  diagnostics.subscribe(channel, steal);
  return {
    stolen,
    stop() {
      diagnostics.unsubscribe(channel, steal);
      for (const server of servers) server.close();
    },
  };
}

const GET = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

async function withIdleConnection() {
  const listener = await listenOn(0);
  const idle = connect(portOf(listener), HOST);
  await once(idle, "connect");
  return { listener, idle };
}

/** Keeps the event loop from turning, as a slow commit does. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function aDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-listen-"));
  directories.add(dir);
  return dir;
}

describe("a listener", () => {
  it("on port 0 takes any free port and says which", async () => {
    const [first, second] = [await listenOn(0), await listenOn(0)];
    expect(portOf(first)).not.toBe(portOf(second));
    expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await send(portOf(first), "GET", "/", {})).text).toBe("hello");
  });

  it("serves on IPv6", async () => {
    expect((await listenOn(0, hello, "::1")).url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  });

  it("says which address is busy and what to do, and lets nothing go uncaught", async () => {
    const port = portOf(await listenOn(0));
    const busy = listenOn(port);
    await expect(busy).rejects.toThrow(ListenError);
    await expect(busy).rejects.toThrow(`127.0.0.1:${port}: another program listens there; stop it, or choose`);
  });

  it("survives a port that is taken between listhen's look and its bind", async () => {
    const thief = stealPorts(1);
    expect(portOf(await listenOn(0))).not.toBe(thief.stolen[0]);
    expect(thief.stolen).toHaveLength(1);
    thief.stop();
  });

  it("gives up with a reason when a named port is taken there, instead of waiting for ever", async () => {
    const port = portOf(await listenOn(0));
    for (const listener of open) await listener.close(0);
    const thief = stealPorts(1);
    await expect(listenOn(port)).rejects.toThrow(`127.0.0.1:${port}: another program listens there`);
    thief.stop();
  });

  it("is one of many that start at once", async () => {
    const many = await Promise.all(Array.from({ length: 20 }, () => listenOn(0)));
    expect(new Set(many.map(portOf)).size).toBe(20);
  });

  it("says that the host does not have the address", async () => {
    await expect(listenOn(0, hello, "192.0.2.1")).rejects.toThrow("192.0.2.1:0: this host does not have that address");
  });

  it("refuses a port that listhen would quietly turn into another", async () => {
    await expect(listenOn(6000)).rejects.toThrow("cannot listen on 127.0.0.1:6000");
  });

  it("leaves signals and output to the daemon", async () => {
    const before = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => process.listenerCount(signal));
    await listenOn(0);
    expect(["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => process.listenerCount(signal))).toEqual(before);
  });

  it("bounds what a client may take, from the first connection on", async () => {
    const { server } = await listenOn(0);
    expect(server).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 5000,
      maxHeaderSize: 16_384,
      maxConnections: 512,
      connectionsCheckingInterval: 1000,
    });
  });
});

describe("closing", () => {
  it("waits for a running request and takes no new ones", async () => {
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const listener = await listenOn(0, (_req, res) => {
      asked.resolve();
      void answer.promise.then(() => res.end("late"));
    });
    const running = send(portOf(listener), "GET", "/", {});
    await asked.promise;
    const closed = listener.close(10_000);
    await expect(send(portOf(listener), "GET", "/", {})).rejects.toThrow("ECONNREFUSED");
    answer.resolve();
    expect((await running).text).toBe("late");
    await closed;
  });

  it("cuts what is left at the deadline", async () => {
    const asked = Promise.withResolvers<void>();
    const listener = await listenOn(0, () => asked.resolve());
    const running = expect(send(portOf(listener), "GET", "/", {})).rejects.toThrow(/hang up|ECONNRESET/);
    await asked.promise;
    await listener.close(20);
    await running;
  });

  it("answers what came over an idle connection while the process was busy", async () => {
    const { listener, idle } = await withIdleConnection();
    const closed = listener.close(10_000);
    idle.write(GET);
    block(500);
    expect(String(await once(idle, "data"))).toMatch(/^HTTP\/1.1 200 [^]*hello/);
    await closed;
  });

  it("answers what comes over an idle connection a moment later, as from a publisher far away", async () => {
    const { listener, idle } = await withIdleConnection();
    const closed = listener.close(10_000);
    // Both waits are timers of this process, so that a busy machine cannot change their order.
    setTimeout(() => idle.write(GET), 150);
    expect(String(await once(idle, "data"))).toMatch(/^HTTP\/1.1 200 [^]*hello/);
    await closed;
  });

  it("is prepared by answers that end their connection, while others are still taken", async () => {
    const { listener, idle } = await withIdleConnection();
    const silent = connect(portOf(listener), HOST);
    await once(silent, "connect");
    silent.write(GET);
    await once(silent, "data");
    const gone = once(silent, "close");
    const left = listener.leave();
    idle.write(GET);
    expect(String(await once(idle, "data"))).toMatch(/\r\nConnection: close\r\n/i);
    expect((await send(portOf(listener), "GET", "/", {})).status).toBe(200);
    await Promise.all([left, gone]);
    expect((await send(portOf(listener), "GET", "/", {})).status).toBe(200);
  });

  it("does not wait for an idle connection", async () => {
    const { listener, idle } = await withIdleConnection();
    const gone = new Promise((resolve) => idle.once("close", resolve));
    await listener.close(10_000);
    await gone;
  });
});

describe("a unix socket", () => {
  it("serves the same handler, for its owner alone, and goes away when closed", async () => {
    const path = join(aDirectory(), "s.sock");
    const socket = (await socketAt(path)) as Listener;
    expect(socket.url).toBe(`unix:${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const answer = await new Promise<string>((resolve, reject) => {
      request({ socketPath: path, path: "/" }, (res) => res.on("data", (chunk) => resolve(String(chunk))))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe("hello");
    await socket.close(100);
    expect(() => statSync(path)).toThrow("ENOENT");
  });

  it("replaces one that a killed daemon left behind", async () => {
    const path = join(aDirectory(), "s.sock");
    const stale = createServer().listen(path);
    await new Promise((resolve) => stale.once("listening", resolve));
    expect(await socketAt(path)).toHaveProperty("url");
    stale.close();
  });

  it("does not touch a file that is no socket", async () => {
    const path = join(aDirectory(), "s.sock");
    writeFileSync(path, "mine");
    expect(await socketAt(path)).toEqual({ refused: expect.stringContaining("no socket") });
    chmodSync(path, 0o600);
  });

  it("of a path that the system would cut is refused", async () => {
    const path = join("/tmp", "x".repeat(110));
    expect(await socketAt(path)).toEqual({ refused: expect.stringContaining("longer than 107 bytes") });
  });

  it("of an unknown group, or in a directory that is not there, is refused", async () => {
    const path = join(aDirectory(), "s.sock");
    expect(await socketAt(path, 0o660, "no-such-group")).toEqual({ refused: expect.stringContaining("no group") });
    expect(await socketAt(join(aDirectory(), "no", "s.sock"))).toEqual({ refused: expect.stringContaining("listen ") });
  });
});
