import { expect, it } from "vitest";
import { Description, token } from "./described.ts";
import { FakeStore } from "../fake-store.ts";
import { ApiServer } from "../server.ts";

const api = await ApiServer.start(new FakeStore().asStore());
const description = new Description((await api.get("/openapi.json")).body);
const type = "budget.exceeded";

function described(path: string, body: unknown): boolean {
  const at = `/paths/${token(path)}/post/requestBody/content/${token("application/json")}/schema`;
  return description.faults(at, body).length === 0;
}

// The scan that reads publishes does not use the schema that describes them, because it must not parse `data`.
it.each(
  [
    { type, data: {} },
    { type, data: { constructor: 1, a: [null, { b: "c" }] } },
    { type, data: {}, tenant: "a.b:c-d_E" },
    { type, data: {}, created_at: "2026-11-20T09:55:00+01:00" },
    { type },
    { data: {} },
    { type: "no.such", data: {} },
    { type: 1, data: {} },
    { type, data: [] },
    { type, data: null },
    { type, data: {}, tenant: "" },
    { type, data: {}, tenant: "a b" },
    { type, data: {}, tenant: null },
    { type, data: {}, created_at: 1 },
    { type, data: {}, id: "evt_1" },
    { type, data: {}, publisher_id: "order-1042/é" },
    { type, data: {}, publisher_id: "order-1042", tags: ["customer:1042", "b"] },
    { type, data: {}, publisher_id: "" },
    { type, data: {}, publisher_id: null },
    { type, data: {}, publisher_id: 7 },
    { type, data: {}, publisher_id: "a".repeat(129) },
    { type, data: {}, tags: [] },
    { type, data: {}, tags: ["a", "b", "c", "d", "e", "f"] },
    { type, data: {}, tags: ["a", "a"] },
    { type, data: {}, tags: ["a,b"] },
    { type, data: {}, tags: ["a b"] },
    { type, data: {}, tags: [1] },
    { type, data: {}, tags: "a" },
    { type, data: {}, tags: ["a".repeat(65)] },
    { type, data: {}, idempotency_key: "only in a batch" },
  ].map((event) => ({ event })),
)("a publish of $event is taken if it is described, and only then", async ({ event }) => {
  const { status } = await api.post("/v1/webhooks/events", event);
  expect(status === 202).toBe(described("/v1/webhooks/events", event));
});

it.each(
  [
    [{ type, data: {}, idempotency_key: "k" }],
    [{ type, data: {}, idempotency_key: "a b" }],
    [{ type, data: {}, idempotency_key: 1 }],
    [{ type, data: {} }, 1],
    [],
    Array.from({ length: 1000 }, () => ({ type, data: {} })),
    Array.from({ length: 1001 }, () => ({ type, data: {} })),
  ].map((events) => ({ length: events.length, first: events[0], events })),
)("a batch of $length that begins with $first is taken if it is described, and only then", async ({ events }) => {
  const { status } = await api.post("/v1/webhooks/events/batch", { events });
  expect(status === 202).toBe(described("/v1/webhooks/events/batch", { events }));
});

it.each([{}, { events: {} }, { events: [{ type, data: {} }], more: 1 }])("no batch is %j", async (body) => {
  expect((await api.post("/v1/webhooks/events/batch", body)).status).toBe(422);
  expect(described("/v1/webhooks/events/batch", body)).toBe(false);
});
