import { request } from "node:http";
import { newSigningSecret, signingKey } from "../../../src/domain/endpoints/secret.ts";
import { FakeIo } from "../fake-io.ts";
import { webhookd } from "../runs.ts";

export const SECRET = newSigningSecret(() => new Uint8Array(32).fill(1));
export const EVENT = "evt_00000000000000000000000000";
export const BODY = `{"id":"${EVENT}","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.123Z","data":{}}`;

/** `webhookd listen` in this process, running since it printed its first line. */
export class Listening {
  readonly io: FakeIo;
  readonly code: Promise<number>;
  /** The receiver's root URL, without the last slash. */
  url = "";

  private constructor(words: readonly string[], io: FakeIo) {
    this.io = io;
    this.code = webhookd(io, "listen", ...(words.includes("--port") ? [] : ["--port", "0"]), ...words);
  }

  static async start(words: readonly string[], env: Record<string, string> = { LANG: "C.UTF-8" }): Promise<Listening> {
    const started = new Listening(words, new FakeIo({ env }));
    const ended = started.code.then((code) => {
      throw new Error(`it ended with ${code}: ${started.io.err}`);
    });
    ended.catch(() => {});
    await Promise.race([ended, started.until(/http:\/\/127\.0\.0\.1:\d+/)]);
    started.url = /http:\/\/127\.0\.0\.1:\d+/.exec(started.io.out)![0];
    return started;
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.io.out)) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Returns the status and the body, or null if the receiver closed the connection. */
  post(body: string | Buffer, headers: Record<string, string> = {}, path = "/", method = "POST") {
    return new Promise<{ status: number; body: string } | null>((resolve) => {
      const sent = request(this.url + path, { method, headers, agent: false }, async (response) => {
        let text = "";
        for await (const chunk of response) text += String(chunk);
        resolve({ status: response.statusCode!, body: text });
      });
      sent.on("error", () => resolve(null));
      sent.end(body);
    });
  }

  /** Posts a body as webhookd does. */
  deliver(body = BODY, more: Record<string, string> = {}) {
    return this.post(body, { "X-Service-Signature": signingKey(SECRET).signBody(body), "webhook-id": EVENT, ...more });
  }

  get lines(): string[] {
    return this.io.out.trimEnd().split("\n").slice(1);
  }

  stop(): Promise<number> {
    this.io.signal("SIGTERM");
    return this.code;
  }
}
