import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { certificate } from "./tls.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

interface Generated {
  readonly text: string;
  readonly times: number;
}

/** One step of hostile-receivers.json. Its README documents each kind. */
export interface Step {
  readonly send?: string;
  readonly send_gen?: Generated;
  readonly send_gzip_zeros?: number;
  readonly wait_ms?: number;
  readonly repeat?: { readonly every_ms: number; readonly send?: string; readonly send_gen?: Generated };
  readonly close?: "fin" | "rst";
  readonly on_second_request?: "rst";
}

export interface RawScript {
  readonly steps: readonly Step[];
  readonly read_request?: boolean;
  readonly read_rate_bytes_per_s?: number;
  readonly tls?:
    | "self_signed"
    | "wrong_host"
    | "expired"
    | "tls1.1_only"
    | "stall"
    | "plain"
    | "mtls"
    | "no_intermediate"
    | "h2_only"
    | "good";
}

/**
 * A receiver that plays scripted bytes, whether or not they are HTTP. All its times are divided by `scale`. If `pass`
 * is given, it moves a test's clock by each time instead of waiting.
 */
export class RawReceiver {
  /** The head of each request, as it was received. */
  readonly requests: string[] = [];
  connections = 0;
  readonly #script: RawScript;
  readonly #scale: number;
  readonly #pass: ((ms: number) => void) | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #closing = new AbortController();

  private constructor(script: RawScript, scale: number, pass?: (ms: number) => void) {
    this.#script = script;
    this.#scale = scale;
    this.#pass = pass;
    const tls = tlsOptions(script.tls);
    const accept = (socket: Socket) => {
      this.connections++;
      if (script.tls !== "stall") this.#accept(socket);
    };
    this.#server = tls === null ? createServer(accept) : createTlsServer(tls, accept).on("tlsClientError", () => {});
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    });
  }

  static async start(script: RawScript, scale: number, pass?: (ms: number) => void): Promise<RawReceiver> {
    const receiver = new RawReceiver(script, scale, pass);
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {});
    if (this.#script.read_request === false) {
      socket.pause();
      unawaited(this.#play(socket));
      return;
    }
    let pending: Buffer = Buffer.alloc(0);
    let served = 0;
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      const length = requestLength(pending);
      if (length === null || pending.length < length) {
        this.#throttle(socket, chunk.length);
        return;
      }
      this.requests.push(pending.toString("latin1", 0, pending.indexOf("\r\n\r\n")));
      pending = pending.subarray(length);
      served++;
      if (served === 2 && this.#script.steps.some((step) => step.on_second_request === "rst")) socket.resetAndDestroy();
      else unawaited(this.#play(socket));
    });
  }

  #throttle(socket: Socket, bytes: number): void {
    const rate = this.#script.read_rate_bytes_per_s;
    if (rate === undefined) return;
    socket.pause();
    unawaited(this.#wait((bytes / rate) * 1000).then(() => socket.resume()));
  }

  async #play(socket: Socket): Promise<void> {
    for (const step of this.#script.steps) {
      if (step.wait_ms !== undefined) await this.#wait(step.wait_ms);
      if (socket.destroyed) return;
      const bytes = await bytesOf(step);
      if (bytes !== null) socket.write(bytes);
      if (step.repeat !== undefined) await this.#repeat(socket, (await bytesOf(step.repeat))!, step.repeat.every_ms);
      if (step.close === "fin") socket.end();
      if (step.close === "rst") await flushed(socket).then(() => socket.resetAndDestroy());
    }
  }

  async #repeat(socket: Socket, bytes: Buffer, everyMs: number): Promise<void> {
    while (!socket.destroyed && !this.#closing.signal.aborted) {
      if (!socket.write(bytes)) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
      await this.#wait(everyMs);
    }
  }

  async #wait(ms: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    if (this.#pass !== undefined) return this.#pass(ms / this.#scale);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms / this.#scale);
      const { signal } = this.#closing;
      function done(): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done);
    });
  }
}

async function bytesOf(step: Pick<Step, "send" | "send_gen" | "send_gzip_zeros">): Promise<Buffer | null> {
  // Each character of the corpus stands for one byte.
  if (step.send !== undefined) return Buffer.from(step.send, "latin1");
  if (step.send_gen !== undefined) return Buffer.from(step.send_gen.text.repeat(step.send_gen.times), "latin1");
  // Compresses on another thread, because other receivers are being timed on this one.
  return step.send_gzip_zeros === undefined ? null : await promisify(gzip)(Buffer.alloc(step.send_gzip_zeros));
}

/** Returns the length of head and body together, or null while the head is incomplete. */
function requestLength(bytes: Buffer): number | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const length = /^content-length: (\d+)$/im.exec(bytes.toString("latin1", 0, end).replaceAll("\r", ""))?.[1];
  return end + 4 + Number(length ?? 0);
}

async function flushed(socket: Socket): Promise<void> {
  if (socket.writableLength > 0) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
}

function tlsOptions(tls: RawScript["tls"]): TlsOptions | null {
  switch (tls) {
    case undefined:
    case "plain":
    case "stall":
      return null;
    case "self_signed":
      return certificate("self-signed");
    case "wrong_host":
      return certificate("wrong-host");
    case "expired":
      return certificate("expired");
    case "tls1.1_only":
      return { ...certificate("good"), minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    case "mtls":
      return { ...certificate("good"), requestCert: true, rejectUnauthorized: true };
    case "no_intermediate":
      return certificate("no-intermediate");
    case "h2_only":
      return { ...certificate("good"), ALPNProtocols: ["h2"] };
    case "good":
      return certificate("good");
  }
}
