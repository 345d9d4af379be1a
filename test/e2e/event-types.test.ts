import { expect, it } from "vitest";
import { ConfigError } from "../../src/config/mistake.ts";
import { BUILT_IN_TYPES, type EventType } from "../../src/domain/events/event-type.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

const SHIPPED: EventType = {
  name: "order.shipped",
  description: "",
  source: "example",
  schema: { type: "object", properties: { order_id: { type: "string" } } },
  sample: { order_id: "ord_1" },
};

/** Returns the message of a start that is refused. */
async function refusal(dir: string, eventTypes: readonly EventType[]): Promise<string> {
  const error: unknown = await TestDaemon.start({ dir, eventTypes }).then(
    (daemon) => daemon.stop(),
    (reason: unknown) => reason,
  );
  return error instanceof ConfigError ? error.message : "";
}

it("a type is added by configuration, delivered, and cannot be removed while an endpoint has chosen it", async () => {
  const dir = aDirectory();
  const receiver = await TestReceiver.start();
  const first = await TestDaemon.start({ dir, eventTypes: [SHIPPED] });
  const { id } = await first.register(receiver.url, { events: ["order.shipped"] });
  await first.publish({ order_id: 5 }, "order.shipped");
  expect((await first.request("POST", `/v1/webhooks/${id}/test`)).status).toBe(202);
  await first.daemon.idle();
  const datas = receiver.requests.map(({ body }) => JSON.parse(body.toString()).data);
  expect(datas).toEqual([{ order_id: 5 }, SHIPPED.sample]);
  await first.stop();

  expect(await refusal(dir, [])).toMatch(
    new RegExp(`order\\.shipped is no longer configured, but an endpoint chose it: ${id}\\.[^]*Put it back and start`),
  );
  const second = await TestDaemon.start({ dir, eventTypes: [SHIPPED] });
  expect((await second.request("DELETE", `/v1/webhooks/${id}`)).status).toBe(204);
  await second.stop();
  const third = await TestDaemon.start({ dir });
  expect((await third.request("POST", "/v1/webhooks/events", { type: "order.shipped", data: {} })).status).toBe(422);
  await receiver.close();
});

it("types come and go at SIGHUP", async () => {
  const daemon = await TestDaemon.start({ eventTypes: [] });
  const reload = (eventTypes: readonly EventType[]) =>
    daemon.daemon.reload({ config: { ...daemon.config, eventTypes }, changed: ["event_types"], needsRestart: [] });
  const status = async (data: object = {}) =>
    (await daemon.request("POST", "/v1/webhooks/events", { type: SHIPPED.name, data })).status;
  const listed = async () => (await daemon.request("GET", "/v1/webhooks/event-types")).body.data.length;
  expect(await status()).toBe(422);
  await reload([SHIPPED]);
  expect(await status()).toBe(202);
  const { id } = await daemon.register("http://127.0.0.1:8080/", { events: [SHIPPED.name] });
  await reload([SHIPPED, { ...SHIPPED, name: "order.lost" }]);
  expect(await listed()).toBe(BUILT_IN_TYPES.length + 2);
  await expect(reload([])).rejects.toThrow("no longer configured");
  expect(await listed()).toBe(BUILT_IN_TYPES.length + 2);
  await daemon.request("DELETE", `/v1/webhooks/${id}`);
  await reload([]);
  expect(await listed()).toBe(BUILT_IN_TYPES.length);
  expect(await status()).toBe(422);
});

it("a type whose sample contradicts its schema is refused at the start, validated or not", async () => {
  expect(await refusal(aDirectory(), [{ ...SHIPPED, sample: { order_id: 1 } }])).toBe(
    "[[event_types]]: order.shipped has a sample that does not match its schema: /order_id must be string.",
  );
});

it("[events] validate holds data against the schema, and without it any object goes", async () => {
  const publish = async (settings: Record<string, string>) => {
    const daemon = await TestDaemon.start({ settings });
    const event = { type: "transaction.enriched", data: { merchant: {} } };
    const { status, body } = await daemon.request("POST", "/v1/webhooks/events", event);
    return { status, pointer: body.errors?.[0].pointer };
  };
  expect(await publish({ EVENTS_VALIDATE: "true" })).toEqual({ status: 422, pointer: "/data/transaction_id" });
  expect(await publish({})).toEqual({ status: 202, pointer: undefined });
});
