/**
 * The smallest possible sender: signs and posts, but keeps nothing. Arguments: a port, a secret and a number of
 * connections.
 */
import { createHmac, createSecretKey } from "node:crypto";
import { Pool, type Dispatcher } from "undici";
import { ENVELOPE, SEQ_AT, writeDigits } from "./payload.ts";

const [port, secret, connections] = process.argv.slice(2);
const key = createSecretKey(secret!, "utf8");
const pool = new Pool(`http://127.0.0.1:${port}`, {
  connections: Number(connections),
  pipelining: 1,
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
});
let answered = 0;
let submitted = 0;
let inFlight = 0;
let stopping = false;

/** Posts again as soon as it gets a response. */
class Poster implements Dispatcher.DispatchHandler {
  readonly #body = Buffer.from(ENVELOPE);

  post(): void {
    submitted++;
    inFlight++;
    writeDigits(this.#body, SEQ_AT, submitted);
    const signature = createHmac("sha256", key).update(this.#body).digest("hex");
    const headers = ["content-type", "application/json", "X-Service-Signature", signature];
    pool.dispatch({ method: "POST", path: "/ok/bare", headers, body: this.#body }, this);
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status !== 200) throw new Error(`the receiver answered ${status}`);
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    inFlight--;
    answered++;
    if (!stopping) this.post();
    else if (inFlight === 0) process.send!(answered, () => process.disconnect());
  }

  onResponseError(_controller: unknown, error: Error): void {
    throw error;
  }
}

process.once("message", () => void (stopping = true));
process.once("disconnect", () => process.exit());
for (let i = 0; i < Number(connections); i++) new Poster().post();
