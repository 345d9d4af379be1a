import { expect, it } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { Collector } from "../harness/collector.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";
import { startServer } from "../harness/postgres.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACE = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` };

it("the trace of an event outlasts a restart with PostgreSQL too", async () => {
  const server = await startServer();
  if (server === null) throw new Error("there is no PostgreSQL to test with");
  try {
    await server.ask("CREATE DATABASE traces");
    const [collector, receiver, clock] = [await Collector.start(), await receiverOf(500), new ManualClock()];
    const settings = { DATA_STORE: server.urlOf("traces"), TELEMETRY_OTLP: collector.url };
    const daemon = await TestDaemon.start({ clock, settings });
    await daemon.register(receiver.url, { trace_context: true });
    await daemon.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data: {} }, TRACE);
    await daemon.daemon.idle();
    await daemon.stop();
    clock.advance("31s");
    const later = await TestDaemon.start({ dir: daemon.dir, clock, settings });
    await later.daemon.idle();
    await later.stop();
    const attempts = collector.spans.filter(({ name }) => name === "POST");
    expect(attempts.map(({ traceId }) => traceId)).toEqual([TRACE_ID, TRACE_ID]);
    expect(receiver.requests.map(({ headers }) => headers["traceparent"])).toEqual(
      attempts.map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`),
    );
  } finally {
    await server.stop();
  }
});
