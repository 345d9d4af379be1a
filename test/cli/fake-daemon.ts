import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEveryTest } from "../harness/ends.ts";

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  /** The body as it was received. */
  readonly text: string;
}

type Answer = (seen: Seen) => { status: number; body?: unknown; type?: string };

export interface FakeDaemon {
  readonly dir: string;
  readonly url: string;
  readonly socket: string;
  readonly seen: Seen[];
}

const closing: (() => Promise<void>)[] = [];

afterEveryTest(async () => {
  for (const close of closing.splice(0)) await close();
});

export function problem(status: number, code: string, detail: string, errors?: object[]) {
  return {
    status,
    type: "application/problem+json",
    body: { type: "about:blank", title: code, status, detail, code, errors },
  };
}

/** Starts a daemon that responds as the test says, on a free port and on a socket in its own directory. */
export async function fakeDaemon(answer: Answer): Promise<FakeDaemon> {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-cli-"));
  const socket = join(dir, "webhookd.sock");
  const seen: Seen[] = [];
  const listener: RequestListener = async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const one = {
      method: req.method!,
      path: req.url!,
      headers: req.headers,
      body: text === "" ? undefined : (JSON.parse(text) as unknown),
      text,
    };
    seen.push(one);
    const { status, body, type = "application/json" } = answer(one);
    res.writeHead(status, body === undefined ? {} : { "content-type": type });
    res.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
  };
  const [tcp, unix] = [createServer(listener), createServer(listener)];
  tcp.listen(0, "127.0.0.1");
  unix.listen(socket);
  await Promise.all([once(tcp, "listening"), once(unix, "listening")]);
  closing.push(async () => {
    for (const server of [tcp, unix]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    rmSync(dir, { recursive: true });
  });
  return { dir, url: `http://127.0.0.1:${(tcp.address() as AddressInfo).port}`, socket, seen };
}
