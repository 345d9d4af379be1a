import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { FORMATS, verifies } from "../../src/domain/endpoints/further-signature.ts";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";

const format = FORMATS.stripe;

describe("a signature in another sender's format", () => {
  it.each([0, 1])("is sent beside our own, to the tenants that it is for, by %j threads", async (threads) => {
    const receiver = await receiverOf();
    const also = [{ name: "stripe", format, tenants: ["acme"], endpoints: null }];
    const settings = { DELIVERY_THREADS: String(threads) };
    const daemon = await TestDaemon.start({ clock: systemClock, also, settings });
    for (const tenant of ["acme", "other"]) {
      const endpoint = { url: receiver.url, events: ["goal.achieved"] };
      const { signing_secret: secret } = (await daemon.request("POST", `/v1/webhooks?tenant=${tenant}`, endpoint)).body;
      await daemon.request("POST", "/v1/webhooks/events", { type: "goal.achieved", data: {}, tenant });
      const { headers, body } = await receiver.next();
      expect(verifyingKey(secret).verifyBody(body, headers["x-service-signature"]!)).toBe(true);
      const given = headers["stripe-signature"];
      const request = { id: "", timestamp: 0, body, url: "" };
      expect(given === undefined ? null : verifies(format, [secret], request, given)).toBe(tenant === "acme" || null);
    }
  });
});
