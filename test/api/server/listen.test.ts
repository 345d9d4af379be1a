import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request, Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { NodeHandler, Listener, ListenerParts } from "../../../src/api/server/listener.ts";
import { ListenError, openListener } from "../../../src/api/server/listen.ts";
import { openSocket } from "../../../src/api/server/socket.ts";
import { silentLog } from "../../../src/log.ts";
import { send } from "../server.ts";
import diagnostics from "node:diagnostics_channel";

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

  it("does not touch a file that is not a socket", async () => {
    const path = join(aDirectory(), "s.sock");
    writeFileSync(path, "mine");
    expect(await socketAt(path)).toEqual({ refused: expect.stringContaining("is not a socket") });
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
