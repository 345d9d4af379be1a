/** What was counted, as callers see it. */
import * as v from "valibot";
import { Count, described, id, Instant, titled } from "./wire.ts";

const Rate = v.pipe(v.number(), v.minValue(0));
const Milliseconds = v.nullable(v.pipe(v.number(), v.minValue(0)));
const Percentiles = v.object({ p50: Milliseconds, p95: Milliseconds, p99: Milliseconds });

export const Statistics = titled(
  "Statistics",
  v.object({
    window: v.string(),
    since: Instant,
    until: Instant,
    step_seconds: described(Count, "How long each part of the series is; the last one is still going on."),
    endpoint: v.nullable(id("ep")),
    published: described(
      v.nullable(v.object({ total: Count, per_second: Rate, by_type: v.record(v.string(), Count) })),
      "Events; null for one endpoint, because events are published to a tenant.",
    ),
    attempts: v.object({
      total: Count,
      per_second: Rate,
      succeeded: Count,
      failed: Count,
      interrupted: described(Count, "Ended by ourselves; they are made again."),
      by_error: described(v.record(v.string(), Count), "What failed, by the attempt's `error`."),
    }),
    deliveries: described(v.object({ delivered: Count, failed: Count }), "Deliveries that ended so."),
    duration_ms: described(
      Percentiles,
      "Of attempts, read off buckets, so off by a fifth at most; null when there were none. So are the next ones.",
    ),
    first_attempt_delay_ms: described(Percentiles, "From the publish to the start of the first attempt."),
    series: v.array(
      v.object({ at: Instant, published: Count, succeeded: Count, failed: Count, duration_p95_ms: Milliseconds }),
    ),
  }),
);

export const someStatistics = {
  window: "1h",
  since: "2026-11-20T08:56:00.000Z",
  until: "2026-11-20T09:55:30.000Z",
  step_seconds: 60,
  endpoint: null,
  published: { total: 3570, per_second: 1, by_type: { "budget.exceeded": 3570 } },
  attempts: {
    total: 3600,
    per_second: 1.008,
    succeeded: 3560,
    failed: 40,
    interrupted: 0,
    by_error: { http_status: 30, timeout: 10 },
  },
  deliveries: { delivered: 3560, failed: 2 },
  duration_ms: { p50: 41.2, p95: 180.5, p99: 1020.4 },
  first_attempt_delay_ms: { p50: 3.1, p95: 7.5, p99: 18.2 },
  series: [{ at: "2026-11-20T08:56:00.000Z", published: 60, succeeded: 59, failed: 1, duration_p95_ms: 172.4 }],
};
