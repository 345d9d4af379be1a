import { createHmac } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { BODY_FORMATS } from "../../src/domain/endpoints/body-format.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

const PATH = "/v1/webhooks";
const EVENT = { type: "budget.exceeded", data: { name: "café" } };

async function started(format: string) {
  const clock = new ManualClock();
  const daemon = await TestDaemon.start({ clock });
  const receiver = await TestReceiver.start([500, 500]);
  onTestFinished(() => receiver.close());
  const { id, signing_secret: secret } = await daemon.register(receiver.url, { format });
  const publish = async () => (await daemon.request("POST", `${PATH}/events`, EVENT)).body.id as string;
  const retry = async (after = "30s") => {
    await daemon.daemon.idle();
    clock.advance(after);
    await daemon.daemon.tick();
    await daemon.daemon.idle();
  };
  return { daemon, receiver, endpoint: id as string, secret: secret as string, publish, retry };
}

describe("the format of an endpoint", () => {
  it.each(BODY_FORMATS)("%s: every attempt has the same bytes, and they are signed", async (format) => {
    const { receiver, secret, publish, retry } = await started(format);
    const event = await publish();
    await retry();
    await retry("2m");
    const [first, ...others] = receiver.requests;
    expect(others.map(({ body }) => body.toString())).toEqual(Array(2).fill(first!.body.toString()));
    for (const { body, headers } of receiver.requests) {
      expect(headers["x-service-signature"]).toBe(createHmac("sha256", secret).update(body).digest("hex"));
      expect(headers["content-length"]).toBe(String(body.length));
    }
    const parsed = JSON.parse(first!.body.toString());
    const isAlone = format === "data" || format === "cloudevents_binary";
    expect(isAlone ? parsed : parsed.data).toEqual(EVENT.data);
    expect(isAlone ? undefined : parsed.id).toBe(isAlone ? undefined : event);
    expect(first!.headers["ce-id"]).toBe(format === "cloudevents_binary" ? event : undefined);
  });

  it("applies to the attempts that start after it was changed, and is shown", async () => {
    const { daemon, receiver, endpoint, publish, retry } = await started("data");
    await publish();
    await daemon.daemon.idle();
    expect((await daemon.request("PATCH", `${PATH}/${endpoint}`, { format: null })).body.format).toBe("envelope");
    await retry();
    expect(receiver.requests.map(({ body }) => Object.keys(JSON.parse(body.toString())))).toEqual([
      ["name"],
      ["id", "type", "created_at", "data"],
    ]);
  });

  it("has test events in it", async () => {
    const { daemon, receiver, endpoint } = await started("cloudevents");
    await daemon.request("POST", `${PATH}/${endpoint}/test`, {});
    await daemon.daemon.idle();
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({
      specversion: "1.0",
      source: "/tenants/default",
    });
  });
});
