/** A server that answers as another sender's API does, with that API's pages, limits and faults. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEveryTest } from "./ends.ts";

export interface ForeignAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ForeignServer {
  readonly url: string;
  /** The paths that were asked for, with their queries. */
  readonly seen: string[];
  /** Answers in place of the server if it returns something. `count` is the number of this request. */
  fault: (path: string, count: number) => ForeignAnswer | "cut" | undefined;
}

const closing: (() => Promise<void>)[] = [];

afterEveryTest(async () => {
  for (const close of closing.splice(0)) await close();
});

/** `answer` returns null for a path that there is not. */
export async function foreignServer(key: string, answer: (url: URL) => unknown): Promise<ForeignServer> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url!, "http://foreign");
    const fault = foreign.fault(url.pathname, seen.push(request.url!));
    if (fault === "cut") return void request.socket.destroy();
    const own = () => {
      if (request.headers.authorization !== `Bearer ${key}`) return { status: 401, body: { detail: "no such key" } };
      const body = answer(url);
      return body === null ? { status: 404, body: { detail: "not found" } } : { status: 200, body };
    };
    const { status, body, headers }: ForeignAnswer = fault ?? own();
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body ?? {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const foreign: ForeignServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    fault: () => undefined,
  };
  return foreign;
}
