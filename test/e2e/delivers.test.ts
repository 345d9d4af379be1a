import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

describe("an event", () => {
  it("of each built-in type arrives once, signed so that plain crypto and Standard Webhooks verify it", async () => {
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start();
    const types = BUILT_IN_TYPES.map(({ name }) => name);
    const { signing_secret } = await daemon.register(receiver.url, { events: types });

    const published = new Map<string, (typeof BUILT_IN_TYPES)[number]>();
    for (const type of BUILT_IN_TYPES) published.set(await daemon.publish(type.sample, type.name), type);
    await daemon.daemon.idle();

    expect(receiver.requests).toHaveLength(types.length);
    for (const { headers, rawHeaders, body, method } of receiver.requests) {
      const event = JSON.parse(body.toString());
      const type = published.get(event.id)!;
      expect(method).toBe("POST");
      expect(Object.keys(event)).toEqual(["id", "type", "created_at", "data"]);
      expect(event.type).toBe(type.name);
      expect(event.data).toEqual(type.sample);
      expect(new Date(event.created_at).toISOString()).toBe(event.created_at);
      expect(rawHeaders).toContain("X-Service-Signature");
      expect(headers["x-service-signature"]).toBe(createHmac("sha256", signing_secret).update(body).digest("hex"));
      // The library's own check would accept five minutes around the real time, but the test's clock is elsewhere.
      const timestamp = new Date(Number(headers["webhook-timestamp"]) * 1000);
      const signature = new Webhook(signing_secret).sign(headers["webhook-id"]!, timestamp, body.toString());
      expect(headers["webhook-signature"]).toBe(signature);
      expect(headers["webhook-id"]).toBe(event.id);
      expect(await daemon.event(event.id)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 1 }] });
    }
    await receiver.close();
  });

  it("arrives with every byte of its data as it was sent", async () => {
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start();
    await daemon.register(receiver.url);
    const data = '{"n":9007199254740993,"d":1.10,"e":1e400,"z":{"b":1,"a":2},"s":"\\u00e9\\/", "ü" : [ ] }';
    const id = await daemon.publish(data);
    const { body } = await receiver.next();
    expect(body.toString()).toMatch(
      new RegExp(`^\\{"id":"${id}","type":"budget.exceeded","created_at":"[^"]+","data":`),
    );
    expect(body.toString().slice(body.toString().indexOf('"data":') + 7, -1)).toBe(data);
    await daemon.daemon.idle();
    await receiver.close();
  });

  it("reaches only endpoints that chose its type and belong to its tenant", async () => {
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start();
    await daemon.register(receiver.url, { events: ["goal.achieved"] });
    await daemon.request("POST", "/v1/webhooks?tenant=other", { url: receiver.url, events: ["budget.exceeded"] });
    const id = await daemon.publish();
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(0);
    expect(await daemon.event(id)).toMatchObject({ status: "unmatched", deliveries: [] });
    await receiver.close();
  });
});
