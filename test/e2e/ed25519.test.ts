import { expect, it } from "vitest";
import { createPublicKey, verify } from "node:crypto";
import { AsymmetricVerifyingKey } from "../../src/domain/endpoints/asymmetric.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";
import type { Received } from "../harness/receiver.ts";

const KEYS = "/v1/webhooks/keys";
const entriesOf = ({ headers }: Received) => headers["webhook-signature"]!.split(" ");
const versionsOf = (received: Received) => entriesOf(received).map((entry) => entry.split(",")[0]);

/** Returns true if an entry of the header verifies with the key. */
function isSignedBy(publicKey: string, { headers, body }: Received): boolean {
  const at = Number(headers["webhook-timestamp"]);
  const key = new AsymmetricVerifyingKey(publicKey);
  return key.verifyStandard(headers["webhook-id"]!, at, body, headers["webhook-signature"]!);
}

it("a key signs beside HMAC, and another takes over from it at the end of the overlap, even across a restart", async () => {
  const clock = new ManualClock();
  const receiver = await receiverOf();
  const daemon = await TestDaemon.start({ clock });
  const { id } = await daemon.register(receiver.url);
  await daemon.publish();
  expect(versionsOf(await receiver.next())).toEqual(["v1"]);
  await daemon.request("PATCH", `/v1/webhooks/${id}`, { signatures: ["hmac", "ed25519"] });
  const { public_key: old } = (await daemon.request("GET", KEYS)).body;
  await daemon.publish();
  const first = await receiver.next();
  expect([versionsOf(first), isSignedBy(old, first)]).toEqual([["v1", "v1a"], true]);

  const { next_public_key: next } = (await daemon.request("POST", `${KEYS}/rotate`, { overlap_seconds: 60 })).body;
  await daemon.publish();
  const during = await receiver.next();
  expect([versionsOf(during), isSignedBy(old, during), isSignedBy(next, during)]).toEqual([
    ["v1", "v1a", "v1a"],
    true,
    true,
  ]);
  await daemon.stop();

  const restarted = await TestDaemon.start({ clock, dir: daemon.dir });
  clock.advance("60s");
  await restarted.daemon.tick();
  await restarted.publish();
  const after = await receiver.next();
  expect([versionsOf(after), isSignedBy(old, after), isSignedBy(next, after)]).toEqual([["v1", "v1a"], false, true]);
  expect(first.headers["x-service-signature"]).toMatch(/^[0-9a-f]{64}$/);

  await restarted.request("PATCH", KEYS, { published: true });
  const { keys } = (await restarted.request("GET", `${KEYS}/jwks.json`)).body;
  const key = createPublicKey({ key: keys[0], format: "jwk" });
  const { headers, body } = after;
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), body]);
  const signature = Buffer.from(entriesOf(after)[1]!.slice("v1a,".length), "base64");
  expect(verify(null, signed, key, signature)).toBe(true);
  await restarted.stop();
});
