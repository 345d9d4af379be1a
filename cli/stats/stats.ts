import type { Statistics } from "../../src/client/operations.ts";
import { CLIENT, command, FILTER, TENANT } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { glyphsOf, sparkline } from "../output/glyphs.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { grouped, span } from "../output/words.ts";
import { connect } from "../target.ts";
import { findEndpoint } from "../endpoints/find.ts";

export const stats = command({
  args: {
    window: { type: "enum", options: ["5m", "1h", "6h", "24h", "7d"], default: "1h", description: "Period to cover" },
    endpoint: FILTER.endpoint,
    tenant: TENANT,
    ...CLIENT,
  },
  examples: ["webhookd stats", "webhookd stats --window 7d --tenant acme --json"],
  async run({ window, endpoint, tenant, ...args }, io) {
    const client = connect(args, io);
    const query = { window, tenant, ...(endpoint !== undefined && { endpoint: await findEndpoint(endpoint, client) }) };
    const statistics = await client.call("getStatistics", { query });
    if (args.json) sayJson(io, statistics);
    else {
      const { since, step_seconds: step, series } = statistics;
      say(io, `Since ${since}; each mark in a series stands for ${span(step)}.`);
      const marks = (of: "published" | "succeeded" | "failed") =>
        sparkline(
          glyphsOf(io),
          series.map((part) => part[of]),
        );
      sayFields(io, [
        ...totalsOf(statistics),
        ["published", marks("published")],
        ["succeeded", marks("succeeded")],
        ["failed", marks("failed")],
      ]);
    }
    return EXIT.ok;
  },
});

function totalsOf({ published, attempts, deliveries, ...times }: Statistics): [string, string | null][] {
  const types = Object.entries(published?.by_type ?? {}).map(([type, count]) => `${grouped(count)} ${type}`);
  const errors = Object.entries(attempts.by_error).map(([error, count]) => `${grouped(count)} ${error}`);
  return [
    ["events", published === null ? null : `${grouped(published.total)}, ${published.per_second}/s`],
    ["by type", types.join(", ")],
    ["deliveries", `${grouped(deliveries.delivered)} delivered, ${grouped(deliveries.failed)} failed`],
    ["attempts", `${grouped(attempts.total)}, ${attempts.per_second}/s; ${grouped(attempts.failed)} failed`],
    ["by error", errors.join(", ")],
    ["duration", percentilesText(times.duration_ms)],
    ["first attempt", percentilesText(times.first_attempt_delay_ms)],
  ];
}

/** Null if nothing was measured. */
function percentilesText({ p50, p95, p99 }: Statistics["duration_ms"]): string | null {
  return p50 === null ? null : `p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`;
}
