/**
 * A PostgreSQL pooler like pgbouncer in transaction mode: all clients share one connection to the server, and each
 * holds it until its transaction ends. The parameters with which a client connects are dropped.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

const READY = "Z";
const IDLE = "I";
const SSL_REQUEST = 80877103;

export class Pooler {
  readonly #server: Server;
  readonly #upstream: Socket;
  /** Waiting clients and the messages that they have sent, in the order in which they get the connection. */
  readonly #waiting: { readonly client: Socket; sent: Buffer[] }[] = [];
  #serving: Socket | null = null;
  /** The number of ReadyForQuery messages that the server still has to send to the client being served. */
  #replies = 0;

  private constructor(server: Server, upstream: Socket) {
    this.#server = server;
    this.#upstream = upstream;
  }

  static async to(url: string): Promise<Pooler> {
    const { hostname, pathname, port, username } = new URL(url);
    const upstream = connect(Number(port), hostname);
    const server = createServer();
    const pooler = new Pooler(server, upstream);
    upstream.write(startUp({ user: username, database: pathname.slice(1) }));
    const greeting = await new Promise<Buffer>((resolve) => {
      let so = Buffer.alloc(0);
      const take = (bytes: Buffer) => {
        so = Buffer.concat([so, bytes]);
        if (messagesIn(so).some(({ type }) => type === READY)) {
          upstream.off("data", take);
          resolve(so);
        }
      };
      upstream.on("data", take);
    });
    let left = Buffer.alloc(0);
    upstream.on("data", (bytes) => {
      left = Buffer.concat([left, bytes]);
      for (const { type, all } of messagesIn(left)) {
        left = left.subarray(all.length);
        pooler.#answer(type, all);
      }
    });
    server.on("connection", (client) => pooler.#greet(client, greeting));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return pooler;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#upstream.destroy();
  }

  #greet(client: Socket, greeting: Buffer): void {
    let left = Buffer.alloc(0);
    let isGreeted = false;
    client.on("error", () => client.destroy());
    client.on("data", (bytes) => {
      left = Buffer.concat([left, bytes]);
      if (!isGreeted) {
        if (left.length < 8 || left.length < left.readInt32BE(0)) return;
        const isSsl = left.readInt32BE(4) === SSL_REQUEST;
        left = left.subarray(left.readInt32BE(0));
        if (isSsl) return void client.write("N");
        isGreeted = true;
        client.write(greeting);
      }
      const whole: Buffer[] = [];
      for (const { type, all } of messagesIn(left)) {
        left = left.subarray(all.length);
        if (type === "X") return void client.end();
        whole.push(all);
      }
      this.#ask(client, whole);
    });
  }

  #ask(client: Socket, sent: Buffer[]): void {
    if (sent.length === 0) return;
    if (this.#serving === client) return this.#pass(sent);
    const before = this.#waiting.find((one) => one.client === client);
    if (before === undefined) this.#waiting.push({ client, sent });
    else before.sent.push(...sent);
    this.#next();
  }

  #next(): void {
    if (this.#serving !== null) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#serving = next.client;
    this.#pass(next.sent);
  }

  #pass(sent: readonly Buffer[]): void {
    for (const message of sent) {
      // The server answers Sync and Query messages with ReadyForQuery.
      if (message[0] === 0x53 || message[0] === 0x51) this.#replies++;
      this.#upstream.write(message);
    }
  }

  #answer(type: string, all: Buffer): void {
    this.#serving?.write(all);
    if (type !== READY) return;
    this.#replies--;
    if (this.#replies > 0 || String.fromCharCode(all[5]!) !== IDLE) return;
    this.#serving = null;
    this.#next();
  }
}

function startUp(parameters: Readonly<Record<string, string>>): Buffer {
  const text = `${Object.entries(parameters).flat().join("\0")}\0\0`;
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + text.length, 0);
  head.writeInt32BE(196608, 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** Returns the complete messages. */
function messagesIn(bytes: Buffer): { type: string; all: Buffer }[] {
  const found: { type: string; all: Buffer }[] = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) break;
    found.push({ type: String.fromCharCode(bytes[at]!), all: bytes.subarray(at, end) });
    at = end;
  }
  return found;
}
