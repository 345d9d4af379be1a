import { expect, it } from "vitest";
import { TestDaemon } from "../harness/daemon.ts";
import { ManualClock } from "../harness/clock.ts";
import { receiverOf } from "../harness/exchange.ts";
import type { Received } from "../harness/receiver.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE = { traceparent: TRACEPARENT, tracestate: "rojo=1,congo=2" };
const EVENT = { type: "budget.exceeded", data: {} };

const traceOf = ({ headers: { traceparent, tracestate } }: Received) => ({ traceparent, tracestate });
const NO_TRACE = { traceparent: undefined, tracestate: undefined };

it.each(["0", "1"])(
  "a publisher's trace goes with every attempt to an endpoint that asks for it, with %s threads",
  async (threads) => {
    const receiver = await receiverOf(500);
    const clock = new ManualClock();
    const settings = { DELIVERY_THREADS: threads };
    const daemon = await TestDaemon.start({ clock, settings });
    await daemon.register(receiver.url, { trace_context: true });
    await daemon.request("POST", "/v1/webhooks/events", EVENT, TRACE);
    const first = await receiver.next();
    expect(traceOf(first)).toEqual(TRACE);
    await daemon.daemon.idle();
    await daemon.stop();
    clock.advance("30s");
    const after = await TestDaemon.start({ clock, settings, dir: daemon.dir });
    const retry = await receiver.next();
    expect(retry.body).toEqual(first.body);
    expect(traceOf(retry)).toEqual(TRACE);
    await after.request("POST", "/v1/webhooks/events/batch", { events: [EVENT, EVENT] }, TRACE);
    expect([traceOf(await receiver.next()), traceOf(await receiver.next())]).toEqual([TRACE, TRACE]);
    await after.daemon.idle();
  },
);

it("an event without a trace, or with a malformed one, is published and sent without", async () => {
  const receiver = await receiverOf();
  const daemon = await TestDaemon.start();
  await daemon.register(receiver.url, { trace_context: true });
  const none: Record<string, string>[] = [{}, { traceparent: "what is this" }, { tracestate: "rojo=1" }];
  for (const headers of none) {
    expect((await daemon.request("POST", "/v1/webhooks/events", EVENT, headers)).status).toBe(202);
    expect(traceOf(await receiver.next())).toEqual(NO_TRACE);
  }
  await daemon.daemon.idle();
});

it("a trace goes to no endpoint that does not ask for it", async () => {
  const receiver = await receiverOf();
  const daemon = await TestDaemon.start();
  const { id } = await daemon.register(receiver.url);
  expect((await daemon.request("GET", `/v1/webhooks/${id}`)).body.trace_context).toBe(false);
  await daemon.request("POST", "/v1/webhooks/events", EVENT, TRACE);
  expect(traceOf(await receiver.next())).toEqual(NO_TRACE);
  await daemon.request("PATCH", `/v1/webhooks/${id}`, { trace_context: true });
  await daemon.request("POST", "/v1/webhooks/events", EVENT, TRACE);
  expect(traceOf(await receiver.next())).toEqual(TRACE);
  await daemon.daemon.idle();
});

const OWN = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: "own=1" };
const CLOUD_EVENT = { specversion: "1.0", source: "/budgets", type: "budget.exceeded", data: {} };

it("a CloudEvent has the trace of its own attributes, or that of its request", async () => {
  const receiver = await receiverOf();
  const daemon = await TestDaemon.start();
  await daemon.register(receiver.url, { trace_context: true });
  const publish = (path: string, body: object, headers: Record<string, string>) =>
    daemon.request("POST", `/v1/webhooks/events${path}`, body, { ...TRACE, ...headers });
  const batched = { "content-type": "application/cloudevents-batch+json" };
  const malformed = { ...OWN, traceparent: "00-1" };
  const each = [OWN, {}, malformed].map((trace, at) => ({ ...CLOUD_EVENT, id: `b${at}`, ...trace }));
  expect((await publish("/batch", each, batched)).status).toBe(202);
  const traces = [traceOf(await receiver.next()), traceOf(await receiver.next()), traceOf(await receiver.next())];
  expect(traces).toEqual([OWN, TRACE, TRACE]);
  const structured = { "content-type": "application/cloudevents+json" };
  expect((await publish("", { ...CLOUD_EVENT, id: "s", ...OWN }, structured)).status).toBe(202);
  expect(traceOf(await receiver.next())).toEqual(OWN);
  const binary = { "ce-specversion": "1.0", "ce-source": "/budgets", "ce-type": "budget.exceeded", "ce-id": "h" };
  const own = { "ce-traceparent": OWN.traceparent, "ce-tracestate": OWN.tracestate };
  expect((await publish("", {}, { ...binary, ...own })).status).toBe(202);
  expect(traceOf(await receiver.next())).toEqual(OWN);
  await daemon.daemon.idle();
});

it("an endpoint cannot have a trace of its own", async () => {
  const daemon = await TestDaemon.start();
  const registration = { url: "https://example.com/", events: ["budget.exceeded"], headers: { TraceParent: "x" } };
  const { status, body } = await daemon.request("POST", "/v1/webhooks", registration);
  expect([status, body.errors[0].code]).toEqual([422, "invalid_header"]);
});
