// npm install standardwebhooks
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.SIGNING_SECRET);

/** Throws if the signature does not match, or if the request is older than five minutes. */
export function eventOf(rawBody, headers) {
  return webhook.verify(rawBody, headers);
}
