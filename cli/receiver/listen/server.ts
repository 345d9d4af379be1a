/** A small HTTP server on the loopback address. It reads each request whole, up to a limit. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "../../failure.ts";

export interface Received {
  readonly method: string;
  /** The path with its query, as received. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternate, as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly body?: Uint8Array | string;
  readonly type?: string;
}

export interface Server {
  /** The URL of the root. */
  readonly url: string;
  /** Accepts no more requests. Resolves once the current ones are answered, at the latest after a second. */
  close(): Promise<void>;
}

/** With any sensible setting no event is larger. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const CLOSE_MS = 1000;
const HOST = "127.0.0.1";

/**
 * `answer` returns null to close the connection without a response. It is not called for requests that are too large.
 * Throws a Failure if the port is taken.
 */
export async function openServer(
  port: number,
  answer: (received: Received) => Promise<Answer | null>,
): Promise<Server> {
  let isClosing = false;
  const server = createServer((request, response) => {
    // A connection that is kept alive for the next request would delay the close.
    response.once("finish", () => isClosing && setImmediate(() => server.closeIdleConnections()));
    serve(request, response, answer).catch(() => request.socket.destroy());
  });
  server.maxConnections = 256;
  server.requestTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(notOpened(error, port)));
    server.listen(port, HOST, resolve);
  });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        isClosing = true;
        const cut = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
        server.close(() => resolve(clearTimeout(cut)));
        server.closeIdleConnections();
      }),
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (received: Received) => Promise<Answer | null>,
): Promise<void> {
  try {
    const body = await bodyOf(request);
    if (body === null) {
      response.writeHead(413, { connection: "close" }).end();
      return;
    }
    const { method = "", url = "", headers, rawHeaders } = request;
    const reply = await answer({ method, path: url, headers, rawHeaders, body });
    if (reply === null) request.socket.destroy();
    else
      response.writeHead(reply.status, reply.type === undefined ? {} : { "content-type": reply.type }).end(reply.body);
  } catch {
    // The client may have closed the connection while it was sending. A mistake of ours can only be reported as a 500.
    if (response.headersSent || response.destroyed) return;
    response.writeHead(500, { connection: "close" }).end();
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function notOpened({ code, message }: NodeJS.ErrnoException, port: number): Failure {
  const other = `Choose another: --port ${port < 65_535 ? port + 1 : port - 1}, or --port 0 for a free one.`;
  if (code === "EADDRINUSE")
    return new Failure("refused", `port ${port} of ${HOST} is already in use`, other, "port_taken");
  if (code === "EACCES") return new Failure("not_allowed", `you may not listen on port ${port}`, other);
  return new Failure("refused", `cannot listen on port ${port}: ${code ?? message}`, other);
}
