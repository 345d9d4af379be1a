import { ClientError, type Client } from "../../src/client/client.ts";
import type { FailureGroup, Statistics } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { countDisabled } from "../endpoints/find.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { count, grouped, hostsOf } from "../output/words.ts";
import { connect } from "../target.ts";
import { findTenant } from "./find.ts";

/** The number of causes of failure to show. `failures` lists the others. */
const CAUSES = 3;

export const tenantsShow = command({
  args: {
    tenant: { type: "positional", required: true, valueHint: "TENANT", description: "Full name of the tenant" },
    ...CLIENT,
  },
  examples: ["webhookd tenants show acme"],
  async run({ tenant, ...args }, io) {
    const client = connect(args, io);
    const known = await findTenant(tenant, client);
    const statistics = await client.call("getStatistics", { query: { tenant, window: "24h" } });
    const failures = await client.call("listFailures", { query: { tenant } });
    const disabled = await countDisabled(client, tenant);
    const share = await shareOf(client, tenant);
    if (args.json) {
      sayJson(io, { ...known, statistics, failures: failures.data, share });
      return EXIT.ok;
    }
    const hosts = await hostsOf(client, failures.data.slice(0, CAUSES));
    say(io, tenant);
    sayFields(io, [
      [
        "endpoints",
        `${grouped(known.endpoints)}${disabled === 0 ? "" : `, of which ${count(disabled, "is", "are")} disabled`}`,
      ],
      ...lastDay(statistics),
      ["failures", failures.total === 0 ? "none in the last 7 days" : null],
      ...failures.data.slice(0, CAUSES).map((group) => causeOf(group, hosts)),
      ["", failures.total > CAUSES ? `and ${count(failures.total - CAUSES, "more cause", "more causes")}` : null],
      ["share", share === undefined ? null : shareText(share)],
      ["next", failures.total === 0 ? null : `webhookd failures --tenant ${tenant}`],
    ]);
    return EXIT.ok;
  },
});

type Share = Awaited<ReturnType<typeof shareOf>>;

/** Undefined if the configuration does not mention the tenant, or if this key may not read it. */
async function shareOf(client: Client, tenant: string) {
  try {
    return (await client.call("getConfiguration")).tenants[tenant];
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}

function lastDay({ published, deliveries, attempts }: Statistics): [string, string | null][] {
  return [
    ["events", published === null ? null : `${grouped(published.total)} in the last 24 h`],
    ["deliveries", `${grouped(deliveries.delivered)} delivered, ${grouped(deliveries.failed)} failed`],
    ["attempts", `${grouped(attempts.total)}, of which ${grouped(attempts.failed)} failed`],
  ];
}

function causeOf(group: FailureGroup, hosts: ReadonlyMap<string, string>): [string, string] {
  const { endpoint, error, status_code: code, failed, pending, held } = group;
  const where = hosts.get(endpoint) ?? endpoint;
  const counts = `${grouped(failed)} failed, ${grouped(pending)} being retried, ${grouped(held)} held`;
  return ["failing", `${where}: ${causeText(error, code)} (${counts})`];
}

function shareText({ weight, rate_per_second: rate, max_pending: pending }: NonNullable<Share>): string {
  return [
    `weight ${grouped(weight)}`,
    rate === null ? "" : `at most ${count(rate, "event", "events")} a second`,
    pending === null ? "" : `at most ${count(pending, "delivery", "deliveries")} pending`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}
