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

it.each(["0", "1"])("a publisher's trace goes with every attempt, with %s threads", async (threads) => {
  const receiver = await receiverOf(500);
  const clock = new ManualClock();
  const settings = { DELIVERY_THREADS: threads };
  const daemon = await TestDaemon.start({ clock, settings });
  await daemon.register(receiver.url);
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
});

it("an event without a trace, or with a malformed one, is published and sent without", async () => {
  const receiver = await receiverOf();
  const daemon = await TestDaemon.start();
  await daemon.register(receiver.url);
  const none: Record<string, string>[] = [{}, { traceparent: "what is this" }, { tracestate: "rojo=1" }];
  for (const headers of none) {
    expect((await daemon.request("POST", "/v1/webhooks/events", EVENT, headers)).status).toBe(202);
    expect(traceOf(await receiver.next())).toEqual(NO_TRACE);
  }
  await daemon.daemon.idle();
});

it("an endpoint cannot have a trace of its own", async () => {
  const daemon = await TestDaemon.start();
  const registration = { url: "https://example.com/", events: ["budget.exceeded"], headers: { TraceParent: "x" } };
  const { status, body } = await daemon.request("POST", "/v1/webhooks", registration);
  expect([status, body.errors[0].code]).toEqual([422, "invalid_header"]);
});
