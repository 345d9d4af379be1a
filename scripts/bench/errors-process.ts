/**
 * Runs only the daemon's code for attempts to one endpoint. Arguments: a URL, and the number of concurrent requests.
 */
import { systemClock } from "../../src/clock.ts";
import { Egress } from "../../src/delivery/http/egress.ts";
import { Exchange } from "../../src/delivery/http/exchange.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import { ENVELOPE, SEQ_AT, writeDigits } from "./payload.ts";

const RULES = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: true, ownPort: 0 };
const [url, parallel] = process.argv.slice(2) as [string, string];
const settings = { addresses: RULES, resolver: "c-ares", caFile: "", timeoutMs: 10_000 } as const;
const resolve = (name: string) => Promise.reject(new Error(`nobody should look up ${name}`));
const egress = new Egress(settings, systemClock, { resolve, ownAddresses: () => [] });
const exchange = new Exchange(egress, url, "default");
let submitted = 0;
let unanswered = 0;
const stop = new AbortController();

async function postAgain(): Promise<void> {
  const body = Buffer.from(ENVELOPE);
  const headers = ["content-type", "application/json", "X-Service-Signature", "0".repeat(64)];
  const request: SignedRequest = { method: "POST", path: new URL(url).pathname, headers, body, keepsAll: false };
  while (!stop.signal.aborted) {
    writeDigits(body, SEQ_AT, ++submitted);
    if ((await exchange.post(request)).statusCode === null) unanswered++;
  }
}

process.once("message", () => stop.abort());
process.once("disconnect", () => process.exit());
await Promise.all(Array.from({ length: Number(parallel) }, postAgain));
process.send!(unanswered, () => process.disconnect());
