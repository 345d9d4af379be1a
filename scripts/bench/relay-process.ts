/** webhookd's API and its signature, without storing anything: a baseline for the cost of durability. */
import { Pool, type Dispatcher } from "undici";
import { Signer } from "../../src/delivery/send/signer.ts";
import { SIGNATURE, targetOf } from "./payload.ts";
import { openStorelessApi } from "./storeless-api.ts";

const [url, connections] = process.argv.slice(2) as [string, string];
const signer = new Signer(targetOf(url), SIGNATURE);
const pool = new Pool(new URL(url).origin, {
  connections: Number(connections),
  pipelining: 1,
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
});
const handler: Dispatcher.DispatchHandler = {
  onRequestStart() {},
  onResponseStart() {},
  onResponseData() {},
  onResponseEnd() {},
  onResponseError(_controller, error) {
    throw error;
  },
};

const at = await openStorelessApi((claims) => {
  for (const claim of claims) pool.dispatch(signer.sign(claim, Math.floor(claim.dueAt / 1000)), handler);
});
process.once("disconnect", () => process.exit());
process.send!(at);
