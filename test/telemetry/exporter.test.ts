import { resourceFromAttributes } from "@opentelemetry/resources";
import { expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { silentLog, type Log } from "../../src/log.ts";
import { Exporter } from "../../src/telemetry/exporter.ts";
import { publishSpan } from "../../src/telemetry/spans.ts";
import { Collector } from "../harness/collector.ts";
import type { Answer } from "../harness/receiver.ts";

const ORIGIN = { resource: resourceFromAttributes({}), instrumentationScope: { name: "webhookd", version: "0" } };
const PUBLICATION = {
  id: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  type: "goal.achieved",
  createdAt: 0,
  deliveries: 0,
  fresh: [],
  waiting: [],
  duplicate: false,
};
const SPAN = publishSpan(ORIGIN, PUBLICATION, { tenant: "default", data: Buffer.from("{}"), trace: undefined }, [1, 2]);
const NOBODY = "http://127.0.0.1:1";

function exporterTo(url: string) {
  const lines: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void lines.push(message) } as unknown as Log;
  const exporter = new Exporter({ url, protocol: "http/protobuf", headers: {}, clock: systemClock, log });
  return { exporter, lines };
}

const answers: readonly (readonly [string, Answer, exported: number])[] = [
  ["takes it", 200, 1],
  ["refuses it", 403, 0],
  ["answers junk", { status: 200, body: "<html>" }, 1],
  ["answers endlessly", { status: 400, body: Buffer.alloc(5 * 1024 * 1024) }, 0],
  ["wants it in an hour", { status: 503, headers: { "retry-after": "3600" } }, 0],
  ["hangs", "hang", 0],
];

it.each(answers)(
  "counts a span as exported or dropped if the collector %s, and ends soon",
  async (_, answer, exported) => {
    const { exporter, lines } = exporterTo((await Collector.start(answer)).url);
    exporter.add(SPAN);
    await exporter.end();
    expect({ exported: exporter.exported, dropped: exporter.dropped }).toEqual({ exported, dropped: 1 - exported });
    expect(lines.join()).not.toContain("html");
  },
);

it("has a bounded queue, and says once that spans are dropped", async () => {
  const { exporter, lines } = exporterTo(NOBODY);
  for (let left = 10_000; left > 0; left--) exporter.add(SPAN);
  expect(exporter.dropped).toBe(10_000 - 4096);
  expect(lines).toHaveLength(1);
  await exporter.end();
  expect([exporter.exported, exporter.dropped]).toEqual([0, 10_000]);
  expect(lines).toHaveLength(1);
});

it("sends all that fits in the queue when it ends, and drops what comes later", async () => {
  const collector = await Collector.start();
  const { exporter } = exporterTo(collector.url);
  for (let left = 4000; left > 0; left--) exporter.add(SPAN);
  await exporter.end();
  expect([exporter.exported, exporter.dropped, collector.spans.length]).toEqual([4000, 0, 4000]);
});
