/**
 * `webhookd import cut-over`: lets a tenant's endpoints that came over be sent to from here, in an order that loses
 * nothing and sends nothing twice. Each step is read off the endpoints themselves, so it can be cut short anywhere.
 *
 *   in shadow ──cut-over──► held, while both get the events ──cut-over --stopped──► enabled
 *       ▲                                                                              │
 *       └───────────────────────────────── --back ─────────────────────────────────────┘
 */
import type { Client } from "../../../src/client/client.ts";
import { type ArgsOf, CLIENT, command, YES } from "../../command.ts";
import { confirm, requireConsent } from "../../confirm.ts";
import { EXIT } from "../../exit-code.ts";
import { usage } from "../../failure.ts";
import type { Io } from "../../io.ts";
import { note, say, sayJson } from "../../output/print.ts";
import { Progress } from "../../output/progress.ts";
import { count } from "../../output/words.ts";
import { connect } from "../../target.ts";
import { someAtOnce } from "../at-once.ts";
import { MARK, markOf } from "../comparison.ts";
import { ENABLED } from "../registration.ts";
import { eventsHere, type Imported, importedFrom } from "./here.ts";
import { sidesOf, sidesOfLog } from "./sides-there.ts";
import { type Attempts, attemptsOf, ATTEMPTS_FROM, SOURCE } from "./there.ts";

const ARGS = {
  source: SOURCE,
  tenant: { type: "string", required: true, valueHint: "TENANT", description: "The tenant that changes over" },
  stopped: {
    type: "boolean",
    description:
      "The second step, once nothing is published to the other sender any more: send what is held, and enable",
  },
  back: { type: "boolean", description: "Go back: disable the endpoints here, and let them shadow again" },
  ...ATTEMPTS_FROM,
  "dry-run": { type: "boolean", description: "Show the plan and do nothing" },
  ...YES,
  ...CLIENT,
} as const;

type Args = ArgsOf<typeof ARGS>;

export const importCutOver = command({
  args: ARGS,
  examples: [
    "webhookd import cut-over svix --tenant acme",
    "webhookd import cut-over svix --tenant acme --stopped --from https://api.eu.svix.com",
    "webhookd import cut-over svix --tenant acme --back --yes",
  ],
  run,
});

type Stage = "shadow" | "held" | "enabled" | "disabled";

/** An endpoint that was enabled here once and is not any more was disabled by somebody, who meant that. */
function stageOf(endpoint: Imported): Stage {
  if (endpoint.enabled) return "enabled";
  if (endpoint.when_disabled === "shadow") return "shadow";
  return endpoint.when_disabled === "hold" && markOf(endpoint)?.enabled !== true ? "held" : "disabled";
}

async function run(args: Args, io: Io): Promise<number> {
  const { source, tenant, stopped, back } = args;
  if (stopped && back) throw usage("--stopped and --back are two directions", "Use one of them.");
  if (!args["dry-run"]) requireConsent("a cut-over", args, io);
  const isToAsk = args.from !== undefined || args.log !== undefined;
  if (isToAsk && !stopped) throw usage("what was sent there counts only with --stopped", "Leave out --from and --log.");
  const attempts = isToAsk ? attemptsOf(args, io) : null;
  const client = connect(args, io);
  const endpoints = (await importedFrom(source, tenant, client)).map((one) => ({ ...one, stage: stageOf(one) }));
  const stages: readonly Stage[] = back ? ["held", "enabled"] : stopped ? ["shadow", "held"] : ["shadow"];
  const work = endpoints.filter(({ stage }) => stages.includes(stage));
  const facts = factsOf(endpoints, args, isToAsk);
  if (args["dry-run"] || work.length === 0) {
    if (args.json) sayJson(io, jsonOf(endpoints, args, NOBODY));
    else for (const fact of facts) say(io, fact);
    if (!args.json) say(io, work.length === 0 ? "There is nothing to do." : "Nothing was done.");
    return EXIT.ok;
  }
  await confirm({ facts, word: back ? "back" : "cut-over" }, args, io);
  const doubles = await carryOut(work, { args, attempts, client, io });
  if (args.json) sayJson(io, jsonOf(endpoints, args, doubles));
  else for (const line of doneOf(work, args, doubles)) say(io, line);
  if (!args.json && !back && !stopped) sayNext(args, io);
  return EXIT.ok;
}

type Doubles = ReadonlyMap<string, number>;
const NOBODY: Doubles = new Map();

interface Means {
  readonly args: Args;
  readonly attempts: Attempts | null;
  readonly client: Client;
  readonly io: Io;
}

const AT_ONCE = 8;

/**
 * Returns how many held deliveries of each endpoint were cancelled, because the other sender had begun to send them.
 */
async function carryOut(work: readonly Imported[], { args, attempts, client, io }: Means): Promise<Doubles> {
  const change = (id: string, body: object) => client.call("changeEndpoint", { id, body });
  if (args.back) {
    const body = { enabled: false, when_disabled: "shadow", metadata: { [MARK]: { enabled: false } } };
    await someAtOnce(work, AT_ONCE, ({ id }) => change(id, body));
    return NOBODY;
  }
  // First of all, so that from here on every event is either shadowed or held.
  const shadows = work.filter((one) => stageOf(one) === "shadow");
  await someAtOnce(shadows, AT_ONCE, ({ id }) => change(id, { when_disabled: "hold" }));
  if (!args.stopped) return NOBODY;
  const cancelled = new Map<string, number>();
  const progress = new Progress(io);
  try {
    const begun = await begunThere(work, { args, attempts, client, io });
    for (const one of work) {
      const doubles = begun.get(one.id) ?? [];
      await someAtOnce(doubles, AT_ONCE, (event) =>
        client.call("cancelEvent", { id: event, body: { endpoint: one.id } }),
      );
      await change(one.id, { ...ENABLED, metadata: { [MARK]: { enabled: true } } });
      cancelled.set(one.id, doubles.length);
      progress.show(`${cancelled.size} of ${work.length} endpoints`);
    }
  } finally {
    progress.end();
  }
  return cancelled;
}

/** The other sender may not have attempted yet what it got just before the publisher stopped. */
const SETTLES_MS = 30_000;
/** Both senders get an event within this time. */
const SLACK_MS = 300_000;

/** Returns, for each endpoint, its held events that the other sender has attempted. It goes on with them itself. */
async function begunThere(
  work: readonly Imported[],
  { args, attempts, client, io }: Means,
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (attempts === null && args.log === undefined) return new Map();
  const held = new Map<string, Set<string>>();
  let first = Number.POSITIVE_INFINITY;
  for (const { id } of work) {
    const events = new Set<string>();
    for await (const one of client.every("listDeliveries", { query: { endpoint: id, status: "held" } })) {
      events.add(one.event);
      first = Math.min(first, Date.parse(one.received_at));
    }
    held.set(id, events);
  }
  if (first === Number.POSITIVE_INFINITY) return new Map();
  if (attempts !== null) await io.sleep(SETTLES_MS);
  const span = { since: first - SLACK_MS, until: io.now() + SLACK_MS };
  // A limit would leave the tenant in the middle, and what is held is in memory already.
  const within = { span, wide: span, most: Number.POSITIVE_INFINITY };
  const sides = attempts === null ? sidesOfLog(args.log!, work, within) : await sidesOf(attempts, work, within);
  const begun = new Map(work.map(({ id }) => [id, [] as string[]]));
  for await (const { endpoints, ...sent } of eventsHere(args.tenant, span, client))
    for (const id of endpoints) {
      const isBoth = sides.get(id)?.here(sent) ?? null;
      if (isBoth !== null && held.get(id)?.has(sent.event)) begun.get(id)!.push(sent.event);
    }
  return begun;
}

interface Staged extends Imported {
  readonly stage: Stage;
}

function counted(endpoints: readonly Staged[], stage: Stage): number {
  return endpoints.filter((one) => one.stage === stage).length;
}

/** The plan, in the order in which it is done. */
function factsOf(endpoints: readonly Staged[], { source, tenant, stopped, back }: Args, isToAsk: boolean): string[] {
  const [shadow, held, enabled, disabled] = (["shadow", "held", "enabled", "disabled"] as const).map((stage) =>
    counted(endpoints, stage),
  ) as [number, number, number, number];
  const of = (number: number) => count(number, "endpoint", "endpoints");
  const facts = [
    `${tenant} has ${of(endpoints.length)} from ${source}: ${shadow} in shadow, ${held} held, ${enabled} enabled here, ${disabled} disabled.`,
  ];
  if (back) {
    facts.push(`1. ${of(held + enabled)} will be disabled here, and shadow what comes. Nothing is changed there.`);
    facts.push("   What is still open here stays held: it is neither sent nor cancelled.");
    return facts;
  }
  facts.push(`1. ${of(shadow)} in shadow will hold what comes from now on, while the other sender goes on.`);
  const sent = isToAsk
    ? "What was held meanwhile is sent from here, except for what the other sender has begun to send."
    : "What was held meanwhile is sent from here, all of it: name the other sender's attempts with --from or --log to leave out what it has sent.";
  if (stopped) facts.push(`2. ${of(shadow + held)} will be enabled. ${sent}`);
  else facts.push("2. Then you stop publishing there, and run the same with --stopped: it enables them.");
  if (disabled > 0) facts.push(`${of(disabled)} will stay disabled: disabled there at the import, or here since.`);
  return facts;
}

function doneOf(work: readonly Imported[], { back, stopped }: Args, doubles: Doubles): string[] {
  const of = count(work.length, "endpoint", "endpoints");
  if (back) return [`${of} ${work.length === 1 ? "is" : "are"} in shadow again.`];
  if (!stopped) return [`${of} ${work.length === 1 ? "holds its" : "hold their"} events.`];
  const all = [...doubles.values()].reduce((sum, one) => sum + one, 0);
  const left = `${count(all, "held delivery was", "held deliveries were")} left to the other sender`;
  return [`${of} ${work.length === 1 ? "is" : "are"} enabled; ${left}.`];
}

function sayNext({ source, tenant }: Args, io: Io): void {
  note(
    io,
    `Now stop publishing the events of ${tenant} to the other sender. Leave its endpoints enabled, for its retries.`,
  );
  note(io, `Then: webhookd import cut-over ${source} --tenant ${tenant} --stopped --from URL`);
}

function jsonOf(endpoints: readonly Staged[], { tenant, back, stopped, ...args }: Args, doubles: Doubles) {
  return {
    tenant,
    step: back ? "back" : stopped ? "stopped" : "hold",
    dry_run: args["dry-run"],
    endpoints: endpoints.map(({ id, there, stage }) => ({
      id: there,
      endpoint: id,
      was: stage,
      left_there: doubles.get(id) ?? 0,
    })),
  };
}
