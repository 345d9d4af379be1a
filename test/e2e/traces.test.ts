import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { attemptSpanId, publishSpanId } from "../../src/domain/events/tracing.ts";
import { ManualClock } from "../harness/clock.ts";
import { Collector, type CollectedSpan } from "../harness/collector.ts";
import { TestDaemon, type TestDaemonOptions } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";
import type { Answer, Received } from "../harness/receiver.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const traceparent = (flags: string) => `00-${TRACE_ID}-${PARENT}-${flags}`;
const TRACE = { traceparent: traceparent("01"), tracestate: "rojo=1" };
const UNSAMPLED = { traceparent: traceparent("00") };
const EVENT = { type: "budget.exceeded", data: { name: "café" } };
const [PRODUCER, CLIENT, INTERNAL] = [4, 3, 1];
const ERROR = 2;

async function started(
  { settings, ...options }: TestDaemonOptions = {},
  { answers = [], collector: script = [] }: { answers?: Answer[]; collector?: Answer[] } = {},
) {
  const collector = await Collector.start(...script);
  const receiver = await receiverOf(...answers);
  const clock = new ManualClock();
  const all = { TELEMETRY_OTLP: collector.url, DELIVERY_THREADS: "0", ...settings };
  const daemon = await TestDaemon.start({ ...options, clock, settings: all });
  const publish = async (headers: Record<string, string> = {}) =>
    (await daemon.request("POST", "/v1/webhooks/events", EVENT, headers)).body.id as string;
  return { collector, receiver, clock, daemon, publish, settings: all };
}

/** Lets the attempt that is due after this be made and recorded. */
async function after(time: string, { clock, daemon }: { clock: ManualClock; daemon: TestDaemon }) {
  await daemon.daemon.idle();
  clock.advance(time);
  await daemon.daemon.tick();
  await daemon.daemon.idle();
}

const traceOf = ({ headers }: Received) => ({ traceparent: headers["traceparent"], tracestate: headers["tracestate"] });
const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name);
const idsOf = ({ traceId, parentSpanId, spanId }: CollectedSpan) => ({ traceId, parentSpanId, spanId });

describe("the spans of an event", () => {
  it.each(["http/protobuf", "http/json"])(
    "tell of the publish, the waits and each attempt, as %s, across a restart",
    async (protocol) => {
      const settings = {
        TELEMETRY_PROTOCOL: protocol,
        TELEMETRY_HEADERS: "x-team=a%2Cb",
        TELEMETRY_SERVICE_NAME: "hooks",
        TELEMETRY_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      };
      const all = await started({ settings }, { answers: [500] });
      const { collector, receiver, clock, daemon } = all;
      const { id: endpoint } = await daemon.register(`${receiver.url}?token=query-canary`);
      const event = await all.publish(TRACE);
      await daemon.daemon.idle();
      await daemon.stop();
      clock.advance("31s");
      const later = await TestDaemon.start({ dir: daemon.dir, clock, settings: all.settings });
      await later.daemon.idle();
      const { deliveries } = await later.event(event);
      await later.stop();

      const delivery = deliveries[0].id as string;
      const { spans } = collector;
      for (const { traceId, traceState } of spans) expect([traceId, traceState]).toEqual([TRACE_ID, "rojo=1"]);
      const own = publishSpanId({ event });
      const [publish] = named(spans, "publish budget.exceeded");
      expect(publish).toMatchObject({ kind: PRODUCER, spanId: own, parentSpanId: PARENT });
      expect(publish!.attributes).toMatchObject({
        "messaging.system": "webhookd",
        "messaging.destination.name": "budget.exceeded",
        "messaging.message.id": event,
        "messaging.message.body.size": Buffer.byteLength(JSON.stringify(EVENT.data)),
        "webhookd.tenant": "default",
        "webhookd.deliveries": 1,
      });
      const [first, second] = named(spans, "POST");
      expect(first).toMatchObject({ kind: CLIENT, spanId: attemptSpanId(delivery, 1), parentSpanId: own });
      expect(first!.status).toMatchObject({ code: ERROR, message: "the receiver answered 500" });
      const { origin, hostname, port, pathname } = new URL(receiver.url);
      expect(first!.attributes).toMatchObject({
        "http.request.method": "POST",
        "http.response.status_code": 500,
        "error.type": "500",
        "url.full": `${origin}${pathname}`,
        "server.address": hostname,
        "server.port": Number(port),
        "webhookd.tenant": "default",
        "webhookd.delivery.id": delivery,
        "webhookd.delivery.status": "pending",
        "webhookd.endpoint.id": endpoint,
        "webhookd.attempt.number": 1,
        "webhookd.attempt.trigger": "ladder",
      });
      expect(second).toMatchObject({ spanId: attemptSpanId(delivery, 2), parentSpanId: own, status: { code: 0 } });
      expect(second!.attributes).toMatchObject({
        "http.request.resend_count": 1,
        "http.response.status_code": 200,
        "webhookd.delivery.status": "delivered",
      });
      expect(second!.attributes).not.toHaveProperty("error.type");
      expect(second!.from - first!.to).toBeGreaterThanOrEqual(30_000);
      // The retry was due a second before the daemon was there again.
      const waits = named(spans, "wait budget.exceeded");
      expect(waits.at(-1)).toMatchObject({ kind: INTERNAL, parentSpanId: own, to: second!.from });
      expect(waits.at(-1)!.to - waits.at(-1)!.from).toBeGreaterThanOrEqual(900);
      expect(new Set(collector.collected.map(({ resource }) => JSON.stringify(resource))).size).toBe(1);
      expect(collector.collected[0]!.resource).toMatchObject({
        "service.name": "hooks",
        "deployment.environment.name": "test",
      });
      expect(collector.receiver.requests[0]!.headers["x-team"]).toBe("a,b");
    },
  );

  it("begin a trace of their own without a publisher's, which a replay goes on with", async () => {
    const { collector, receiver, clock, daemon, publish } = await started(
      { settings: { RETRY_DELAYS: "" } },
      { answers: [500] },
    );
    await daemon.register(receiver.url);
    const event = await publish();
    await daemon.daemon.idle();
    expect((await daemon.request("POST", `/v1/webhooks/events/${event}/retry`)).status).toBe(202);
    await after("1s", { clock, daemon });
    await daemon.stop();
    const { spans } = collector;
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(named(spans, "publish budget.exceeded")[0]!.parentSpanId).toBe("");
    const attempts = named(spans, "POST");
    expect(attempts.map(({ attributes }) => attributes["webhookd.attempt.trigger"])).toEqual(["ladder", "replay"]);
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(2).fill(publishSpanId({ event })));
  });

  it("are those of each event of a batch, and a repeated publish has none", async () => {
    const { collector, daemon } = await started();
    const events = [{ ...EVENT, idempotency_key: "k" }, EVENT];
    for (const headers of [TRACE, {}]) await daemon.request("POST", "/v1/webhooks/events/batch", { events }, headers);
    await daemon.stop();
    const published = named(collector.spans, "publish budget.exceeded");
    expect(published.map(({ traceId }) => traceId === TRACE_ID)).toEqual([true, true, false]);
    expect(new Set(published.map(({ spanId }) => spanId)).size).toBe(3);
  });

  it("show how long an event waited for the one before it in its order", async () => {
    const all = await started({}, { answers: [500] });
    const { collector, receiver, clock, daemon } = all;
    await daemon.register(receiver.url, { ordering: "by_key" });
    const events = [1, 2].map(() => ({ ...EVENT, ordering_key: "order_1" }));
    const { body } = await daemon.request("POST", "/v1/webhooks/events/batch", { events }, TRACE);
    await after("30s", all);
    await daemon.stop();
    const [first, second] = body.data.map(({ id }: { id: string }) => id) as string[];
    const message = ({ attributes }: CollectedSpan) => attributes["messaging.message.id"];
    const attempts = named(collector.spans, "POST");
    expect(attempts.map(message)).toEqual([first, first, second]);
    const wait = named(collector.spans, "wait budget.exceeded").find((span) => message(span) === second);
    expect(wait).toMatchObject({ parentSpanId: publishSpanId({ event: second! }), to: clock.now() });
    expect(wait!.to - wait!.from).toBe(30_000);
  });

  it("contain no secret", async () => {
    const { collector, receiver, daemon, publish } = await started();
    const headers = { authorization: "Bearer header-canary" };
    const { signing_secret: secret } = await daemon.register(`${receiver.url}?token=query-canary`, { headers });
    await publish(TRACE);
    await daemon.daemon.idle();
    await daemon.stop();
    expect(named(collector.spans, "POST")).toHaveLength(1);
    const bytes = Buffer.concat(collector.receiver.requests.map(({ body }) => body));
    for (const text of ["header-canary", "query-canary", secret, "café"]) expect(bytes.includes(text)).toBe(false);
  });
});

describe("what a receiver gets", () => {
  it.each(["0", "1"])("is the span of its attempt, if it asks for the trace, with %s threads", async (threads) => {
    const { collector, receiver, daemon, publish } = await started({ settings: { DELIVERY_THREADS: threads } });
    const { id } = await daemon.register(receiver.url, { trace_context: true });
    await publish(TRACE);
    await publish();
    await publish(UNSAMPLED);
    await daemon.daemon.idle();
    await daemon.request("PATCH", `/v1/webhooks/${id}`, { trace_context: false });
    await publish(TRACE);
    await daemon.daemon.idle();
    await daemon.stop();
    const [ofPublisher, own] = named(collector.spans, "POST");
    const sent = receiver.requests.map(traceOf);
    expect(sent).toEqual([
      { traceparent: `00-${TRACE_ID}-${ofPublisher!.spanId}-01`, tracestate: "rojo=1" },
      { traceparent: `00-${own!.traceId}-${own!.spanId}-01`, tracestate: undefined },
      { ...UNSAMPLED, tracestate: undefined },
      { traceparent: undefined, tracestate: undefined },
    ]);
  });
});

describe("sampling", () => {
  it("follows the publisher, and otherwise the ratio; attempts that failed are recorded in any case", async () => {
    const settings = { TELEMETRY_SAMPLE_RATIO: "0" };
    const { collector, receiver, daemon, publish } = await started({ settings }, { answers: [200, 200, 500, 500] });
    await daemon.register(receiver.url);
    for (const headers of [{}, TRACE, {}, UNSAMPLED]) {
      await publish(headers);
      await daemon.daemon.idle();
    }
    await daemon.stop();
    const spans = collector.spans.filter(({ name }) => !name.startsWith("wait"));
    expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
      ["publish budget.exceeded", 0],
      ["POST", 0],
      ["POST", ERROR],
      ["POST", ERROR],
    ]);
    const [, , own, unsampled] = spans;
    // The span of the publish is not there to be the parent.
    expect(own!.parentSpanId).toBe("");
    expect(idsOf(unsampled!)).toMatchObject({ traceId: TRACE_ID, parentSpanId: PARENT });
  });

  it("records no failure of an event that is not sampled, if so configured", async () => {
    const settings = { TELEMETRY_SAMPLE_RATIO: "0", TELEMETRY_ALWAYS_FAILED: "false" };
    const { collector, receiver, daemon, publish } = await started({ settings }, { answers: [500] });
    await daemon.register(receiver.url);
    await publish();
    await daemon.daemon.idle();
    await daemon.stop();
    expect(collector.receiver.requests).toEqual([]);
  });
});

describe("a collector that takes no spans", () => {
  it("keeps nothing waiting, and the status and the metrics say so", async () => {
    const settings = { METRICS_PUBLIC: "true", TELEMETRY_RESOURCE_ATTRIBUTES: "service.namespace=shop,1st.zone=eu" };
    const { receiver, daemon, publish } = await started({ settings }, { collector: [403] });
    await daemon.register(receiver.url);
    const event = await publish(TRACE);
    await daemon.daemon.idle();
    expect((await daemon.event(event)).status).toBe("delivered");
    const traces = async () => (await daemon.request("GET", "/v1/status")).body.traces;
    while ((await traces()).failure === null) await pause(20);
    const { exported, dropped, failure } = await traces();
    expect([exported, failure.detail]).toEqual([0, "it answered 403"]);
    await publish(TRACE);
    while ((await traces()).failure !== null) await pause(20);
    const text = await (await fetch(new URL("/metrics", daemon.url))).text();
    expect(text).toContain(`webhookd_spans_total{result="dropped"} ${dropped}`);
    expect(text).toMatch(/^webhookd_spans_total\{result="exported"\} [1-9]/m);
    expect(text).toMatch(/^target_info\{.*service_namespace="shop".*service_name="webhookd".*\} 1$/m);
    // Prometheus refuses a whole answer with a label that begins with a digit.
    expect(text).toContain('_1st_zone="eu"');
  });
});
