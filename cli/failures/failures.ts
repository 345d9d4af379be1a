import type { FailureGroup } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { CLIENT, command, FILTER, TENANT } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { readTroubles, troubleText, troubleTodo } from "../daemon/halts.ts";
import { glyphsOf, sparkline, type Glyphs } from "../output/glyphs.ts";
import { note, say, sayJson } from "../output/print.ts";
import { sayTable } from "../output/table.ts";
import { connect } from "../target.ts";
import { readCount, readQuery } from "../values.ts";
import { ago, grouped, hostsOf, span } from "../output/words.ts";

export const failures = command({
  args: {
    since: { ...FILTER.since, description: "Only events received since then [7d]" },
    endpoint: FILTER.endpoint,
    tenant: TENANT,
    limit: { type: "string", default: "20", valueHint: "N", description: "Show at most N groups" },
    ...CLIENT,
  },
  examples: ["webhookd failures", "webhookd failures --since 2h --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --json"],
  /** The screen for bad days, as text. */
  async run(args, io) {
    const limit = readCount(args.limit, "--limit", { min: 1, max: 500 });
    const query = readQuery(args, io.now(), ["since", "endpoint", "tenant"]);
    const client = connect(args, io);
    const failures = await client.call("listFailures", { query });
    const troubles = await readTroubles(client);
    if (args.json) {
      sayJson(io, { ...failures, not_sending: troubles });
      return EXIT.ok;
    }
    for (const one of troubles) say(io, `${troubleText(one, io.now())}. To fix it: ${troubleTodo(one)}`);
    const [worst] = failures.data;
    if (worst === undefined) {
      if (troubles.length > 0) say(io, `No receiver has failed since ${failures.since}.`);
      else say(io, `No event received since ${failures.since} has failed.`);
      return EXIT.ok;
    }
    const shown = failures.data.slice(0, limit);
    const hosts = await hostsOf(client, shown);
    const glyphs = glyphsOf(io);
    sayTable(io, [TITLES, ...shown.map((group) => cellsOf(group, hosts, glyphs, io.now()))]);
    const step = `each mark of SERIES is ${span(failures.step_seconds)}`;
    const more = failures.total > shown.length ? `; ${shown.length} of ${failures.total} groups shown` : "";
    note(io, `Events received since ${failures.since}; ${step}${more}.`);
    for (const line of nextOf(worst, args.since)) say(io, line);
    return EXIT.ok;
  },
});

const TITLES = ["FAILED", "RETRIED", "HELD", "ENDPOINT", "URL", "CAUSE", "FIRST", "LAST", "SERIES"];

function cellsOf(group: FailureGroup, hosts: ReadonlyMap<string, string>, glyphs: Glyphs, now: number): string[] {
  const { endpoint, error, status_code: code, first_at: first, last_at: last, series } = group;
  const counts = [group.failed, group.pending, group.held].map(grouped);
  const cause = causeText(error, code);
  return [
    ...counts,
    endpoint,
    hosts.get(endpoint) ?? "",
    cause,
    ago(first, now),
    ago(last, now),
    sparkline(glyphs, series),
  ];
}

/** About the largest group. */
function nextOf(group: FailureGroup, since: string | undefined): string[] {
  const { endpoint, error, status_code: code, sample_attempt: sample, failed, held } = group;
  const words = { endpoint, error, ...(code !== null && { status_code: code }), ...(since !== undefined && { since }) };
  const filter = Object.entries(words).map(([word, value]) => `${word}:${value}`);
  const flags = Object.entries(words).map(([word, value]) => `--${word.replace("_", "-")} ${value}`);
  return [
    `For the first group:`,
    `  one attempt     webhookd attempts show ${sample}`,
    `  its deliveries  webhookd deliveries list --filter "${filter.join(" ")}"`,
    ...(failed === 0 ? [] : [`  when fixed      webhookd replay ${flags.join(" ")} --canary`]),
    ...(held === 0 ? [] : [`  send the held   webhookd endpoints enable ${endpoint}`]),
  ];
}
