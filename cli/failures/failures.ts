import type { Attempt, Endpoint, FailureGroup } from "../../src/client/operations.ts";
import { adviceOnFailure } from "../../src/client/advice.ts";
import { ClientError, type Client } from "../../src/client/client.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { CLIENT, command, FILTER, TENANT } from "../command.ts";
import { countDisabled, isWord, withWholeIds } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { pauseText, readHalts, troublesOf, troubleText, troubleTodo } from "../daemon/halts.ts";
import { glyphsOf, sparkline, type Glyphs } from "../output/glyphs.ts";
import { note, say, sayFields, sayJson } from "../output/print.ts";
import { sayColumns, type Column } from "../output/table.ts";
import { connect, type TargetArgs } from "../target.ts";
import { findTenant, tenantMeant, tenantNamed } from "../tenants/find.ts";
import { readCount, readQuery } from "../values.ts";
import { age, ago, count, endpointsOf, grouped, hostOf, span } from "../output/words.ts";

export const failures = command({
  args: {
    since: { ...FILTER.since, description: "Only events received since this time [7d]" },
    named: {
      type: "positional",
      required: false,
      valueHint: "ENDPOINT",
      description: "As --endpoint, or the name of a tenant",
    },
    endpoint: FILTER.endpoint,
    tenant: TENANT,
    sort: {
      type: "enum",
      options: ["failed", "retried", "held", "first", "last"],
      default: "failed",
      description: "Which groups come first: the largest, the earliest to fail, or the latest",
    },
    limit: { type: "string", default: "20", valueHint: "N", description: "Show at most N groups" },
    ...CLIENT,
  },
  examples: [
    "webhookd failures",
    "webhookd failures acme",
    "webhookd failures --since 2h --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --json",
  ],
  /** Prints as text what the dashboard's screen of failures shows. */
  async run(args, io) {
    const limit = readCount(args.limit, "--limit", { min: 1, max: 500 });
    if (args.named !== undefined && args.endpoint !== undefined) {
      throw usage(`the endpoint is named twice: as "${args.named}" and with --endpoint`);
    }
    const query = readQuery(await meantBy(args, io), io.now(), ["since", "endpoint", "tenant"]);
    const client = connect(args, io);
    const failures = await client.call("listFailures", { query });
    const halts = await readHalts(client);
    const troubles = troublesOf({ not_sending: halts });
    if (args.json) {
      sayJson(io, { ...failures, data: sorted(failures.data, args.sort), not_sending: troubles });
      return EXIT.ok;
    }
    // A person who wonders why nothing arrives may not know that somebody paused sending.
    const paused = halts.find(({ reason }) => reason === "operator");
    if (paused !== undefined) say(io, `Nothing is being sent: ${pauseText(paused)}.`);
    for (const one of troubles) say(io, `${troubleText(one, io.now())}. To fix it: ${troubleTodo(one)}`);
    const [worst, ...others] = sorted(failures.data, args.sort);
    if (worst === undefined) {
      const unknown = query.tenant === undefined ? null : await unknownText(query.tenant, client);
      if (unknown !== null) say(io, unknown);
      else if (troubles.length > 0) say(io, `No receiver has failed since ${failures.since}.`);
      else say(io, `No event received since ${failures.since} has failed.`);
      const disabled = await disabledText(client, query);
      if (disabled !== null) say(io, disabled);
      return EXIT.ok;
    }
    const shown = [worst, ...others].slice(0, limit);
    const endpoints = await endpointsOf(
      client,
      shown.map(({ endpoint: id }) => ({ id })),
    );
    const glyphs = glyphsOf(io);
    const omitted = sayColumns(io, columnsOf(shown, endpoints, glyphs, io.now()));
    const step = omitted.includes("SERIES")
      ? `not shown in ${io.stdout.columns} columns: ${omitted.join(", ")}`
      : `each mark in SERIES stands for ${span(failures.step_seconds)}`;
    const more = failures.total > shown.length ? `; ${shown.length} of ${failures.total} groups shown` : "";
    note(io, `Events received since ${failures.since}; ${step}${more}.`);
    const other = shown.find(({ endpoint }) => endpoint !== worst.endpoint)?.endpoint;
    const url = other === undefined ? undefined : endpoints.get(other)?.url;
    const another = url === undefined ? "" : ` (for another: webhookd failures ${hostOf(url)})`;
    say(io, `For the first group${another}:`);
    sayFields(io, todoOf(worst, { sample: await sampleOf(client, worst), since: args.since, now: io.now() }));
    return EXIT.ok;
  },
});

interface Named extends TargetArgs {
  readonly named: string | undefined;
  readonly endpoint: string | undefined;
  readonly tenant: string | undefined;
}

/**
 * Resolves a name on the command line to an endpoint or a tenant. A customer with several endpoints is a tenant, so the
 * tenant's name stands for all of them.
 */
async function meantBy<A extends Named>(args: A, io: Io): Promise<A> {
  const { named, tenant } = args;
  if (named === undefined) return withWholeIds(args, io);
  try {
    return await withWholeIds({ ...args, endpoint: named }, io);
  } catch (error) {
    if (!(error instanceof Failure) || tenant !== undefined || !isWord(named)) throw error;
    const meant = await readTenant(named, connect(args, io));
    if (meant === null) throw error;
    // People type a customer's name in upper or lower case as they like.
    if (meant.toLowerCase() === named.toLowerCase()) return { ...args, tenant: meant };
    const hint = `${error.hint} For all of tenant ${meant}: webhookd failures --tenant ${meant}`;
    throw new Failure(error.failure, error.message, hint, error.code);
  }
}

/** Returns the tenant of that name, or else the most similar one. Null if the key may not list tenants. */
async function readTenant(name: string, client: Client): Promise<string | null> {
  try {
    return (await tenantNamed(name, client))?.name ?? (await tenantMeant(name, client));
  } catch (error) {
    if (error instanceof ClientError) return null;
    throw error;
  }
}

/**
 * Reports a tenant that does not exist, because a mistyped name would look healthy. Null if it exists, or if the key
 * may not list tenants.
 */
async function unknownText(name: string, client: Client): Promise<string | null> {
  try {
    await findTenant(name, client);
    return null;
  } catch (error) {
    if (error instanceof Failure) return `N${error.message.slice(1)}. ${error.hint}`;
    if (error instanceof ClientError) return null;
    throw error;
  }
}

/**
 * Reports disabled endpoints: a customer may receive nothing although there are no failures. Null if all the endpoints
 * in question are enabled, or if that is unknown.
 */
async function disabledText(
  client: Client,
  { endpoint, tenant }: { readonly endpoint?: string; readonly tenant?: string },
): Promise<string | null> {
  try {
    if (endpoint !== undefined) {
      const { enabled } = await client.call("getEndpoint", { id: endpoint });
      return enabled ? null : `It is disabled, so nothing is sent to it: webhookd endpoints show ${endpoint}`;
    }
    const disabled = await countDisabled(client, tenant);
    if (disabled === 0) return null;
    const those = count(disabled, "disabled endpoint", "disabled endpoints");
    const of = tenant === undefined ? "" : ` --tenant ${tenant}`;
    return `Nothing is sent to ${those}: webhookd endpoints list --state disabled${of}`;
  } catch (error) {
    if (error instanceof ClientError) return null;
    throw error;
  }
}

/** The daemon already returns the groups with the most failures first. */
function sorted(groups: readonly FailureGroup[], by: "failed" | "retried" | "held" | "first" | "last"): FailureGroup[] {
  const compare = {
    failed: () => 0,
    retried: (one: FailureGroup, other: FailureGroup) => other.pending - one.pending,
    held: (one: FailureGroup, other: FailureGroup) => other.held - one.held,
    first: (one: FailureGroup, other: FailureGroup) => Date.parse(one.first_at) - Date.parse(other.first_at),
    last: (one: FailureGroup, other: FailureGroup) => Date.parse(other.last_at) - Date.parse(one.last_at),
  };
  return groups.toSorted(compare[by]);
}

/** On a narrow terminal, the count, the URL, the tenant and the cause are dropped last. */
function columnsOf(
  groups: readonly FailureGroup[],
  endpoints: ReadonlyMap<string, Pick<Endpoint, "url" | "description" | "tenant">>,
  glyphs: Glyphs,
  now: number,
): Column[] {
  const cells = (text: (group: FailureGroup) => string) => groups.map(text);
  const of = (text: (endpoint: Pick<Endpoint, "url" | "description" | "tenant">) => string) =>
    cells(({ endpoint }) => (endpoints.has(endpoint) ? text(endpoints.get(endpoint)!) : ""));
  const [tenants, descriptions] = [of(({ tenant }) => tenant), of(({ description }) => description ?? "")];
  return [
    { title: "FAILED", cells: cells(({ failed }) => grouped(failed)) },
    { title: "RETRIED", cells: cells(({ pending }) => grouped(pending)), rank: 7 },
    { title: "HELD", cells: cells(({ held }) => grouped(held)), rank: 6 },
    { title: "ENDPOINT", cells: cells(({ endpoint }) => endpoint), rank: 5 },
    { title: "URL", cells: of(({ url }) => hostOf(url)), least: 16 },
    // People know a customer by its tenant and description, not by an id.
    ...(tenants.every((tenant) => tenant === "default" || tenant === "")
      ? []
      : [{ title: "TENANT", cells: tenants, least: 8, rank: 9 }]),
    ...(descriptions.every((text) => text === "")
      ? []
      : [{ title: "DESCRIPTION", cells: descriptions, least: 11, rank: 8 }]),
    { title: "CAUSE", cells: cells(({ error, status_code: code }) => causeText(error, code)) },
    {
      title: "FIRST",
      cells: cells(({ first_at: at }) => ago(at, now)),
      brief: cells(({ first_at: at }) => age(at, now)),
      rank: 2,
    },
    {
      title: "LAST",
      cells: cells(({ last_at: at }) => ago(at, now)),
      brief: cells(({ last_at: at }) => age(at, now)),
      rank: 4,
    },
    { title: "SERIES", cells: cells(({ series }) => sparkline(glyphs, series)), rank: 1 },
  ];
}

/** Undefined if the event has been pruned since. */
async function sampleOf(client: Client, { sample_attempt: id }: FailureGroup): Promise<Attempt | undefined> {
  try {
    return await client.call("getAttempt", { id });
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}

interface Known {
  readonly sample: Attempt | undefined;
  readonly since: string | undefined;
  readonly now: number;
}

/** Explains what the failure means, who should do what, and what to type. */
function todoOf(group: FailureGroup, { sample, since, now }: Known): [string, string][] {
  const { endpoint, error, status_code: code, failed, pending, held, first_at: first } = group;
  const advice = adviceOnFailure(group, sample, now - Date.parse(first));
  const words = { endpoint, error, ...(code !== null && { status_code: code }), ...(since !== undefined && { since }) };
  const filter = Object.entries(words).map(([word, value]) => `${word}:${value}`);
  const flags = Object.entries(words).map(([word, value]) => `--${word.replace("_", "-")} ${value}`);
  return [
    ["meaning", advice.meaning],
    ["waiting", advice.outlook],
    ["likely fault", advice.blame],
    ["receiver", advice.receiver],
    ["customer", advice.customer],
    ["the deliveries", `webhookd deliveries list --filter "${filter.join(" ")}"`],
    ...advice.commands.map(({ purpose, line }): [string, string] => [purpose, line]),
    ...(pending === 0
      ? []
      : ([["try waiting ones", `webhookd deliveries attempt ${flags.join(" ")} --canary`]] as [string, string][])),
    ...(failed === 0 ? [] : ([["replay them", `webhookd replay ${flags.join(" ")} --canary`]] as [string, string][])),
    ...(held === 0 ? [] : ([["send held ones", `webhookd endpoints enable ${endpoint}`]] as [string, string][])),
  ];
}
