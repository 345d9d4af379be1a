import type { Attempt } from "../../src/client/operations.ts";
import { ClientError, type Client } from "../../src/client/client.ts";
import { printable } from "../../src/domain/printable.ts";
import { answerLines, resultOf } from "../attempts/text.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { whyNone } from "../daemon/halts.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { exitOf, firstAttempts, tellFirst } from "../events/first-attempts.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { sayTable } from "../output/table.ts";
import { connect } from "../target.ts";
import { readCount, readPace } from "../values.ts";
import { hostOf } from "../output/words.ts";
import { sampleData } from "./sample.ts";

/** The daemon may wait for a receiver longer than any other request takes. */
const TEST_TIMEOUT_MS = 20_000;
const MAX_COUNT = 1000;

/** The result of one triggered event. */
interface Shot {
  readonly exit: number;
  tell(): void;
}

const ARGS = {
  type: { type: "positional", valueHint: "TYPE", description: "Event type" },
  endpoint: { type: "string", valueHint: "ep_…", description: "Send a test event to this endpoint only" },
  all: {
    type: "boolean",
    description:
      "Publish a real event to every endpoint that chose the type; the default if the daemon runs with --dev",
  },
  data: {
    type: "string",
    valueHint: "@FILE",
    description: "Data to send instead of the sample: @FILE, - for stdin, or inline JSON",
  },
  set: { type: "string", multiple: true, valueHint: "data.a.b=VALUE", description: "Change one field of the data" },
  count: { type: "string", default: "1", valueHint: "N", description: "How many events to send" },
  pace: { type: "string", default: "5/s", valueHint: "N/s", description: "How fast to send them" },
  print: { type: "boolean", description: "Print what would be published, and publish nothing" },
  list: { type: "boolean", description: "List the event types" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const trigger = command({
  args: ARGS,
  examples: [
    "webhookd trigger budget.exceeded",
    "webhookd trigger budget.exceeded --endpoint ep_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd trigger transaction.enriched --all --set data.category=travel.flights --count 10 --pace 2/s",
    "webhookd trigger --list",
  ],
  async run(args, io) {
    const connected = () => connect(args, io);
    if (args.list) return listTypes(connected(), args.json, io);
    const { type } = args;
    if (type === undefined) throw usage("TYPE is missing", "`webhookd trigger --list` lists them.");
    const count = readCount(args.count, "--count", { min: 1, max: MAX_COUNT });
    const pauseMs = 1000 / readPace(args.pace, "--pace");
    checkTarget(args);
    const data = await sampleData(type, args, connected, io);
    const body = `{"type":${JSON.stringify(type)},"data":${data}}`;
    if (args.print) {
      io.stdout.write(`${printable(body, { keepNewlines: true })}\n`);
      return EXIT.ok;
    }
    const client = connected();
    const endpoint = args.endpoint === undefined ? undefined : await findEndpoint(args.endpoint, client);
    if (endpoint === undefined && !args.all) await requireDev(client, type);
    const shoot =
      endpoint === undefined
        ? () => publish(client, body, args.json, io)
        : () => sendTest(client, { endpoint, type }, args.json, io);
    return many(shoot, { count, pauseMs, json: args.json }, io);
  },
});

function checkTarget({ endpoint, all, data, set }: Args): void {
  if (endpoint === undefined) return;
  if (all) throw usage("--endpoint and --all cannot be combined");
  if (data === undefined && set.length === 0) return;
  throw usage(
    "a test event always carries the sample of its type",
    "To send your own data, publish a real event with --all.",
  );
}

/** Requires --dev, because on a daemon in production a made-up event would go to real customers. */
async function requireDev(client: Client, type: string): Promise<void> {
  try {
    if ((await client.call("getStatus")).dev) return;
  } catch (error) {
    if (!(error instanceof ClientError) || error.failure !== "not_allowed") throw error;
  }
  throw usage(
    "which endpoints should get it? This daemon is not running with --dev",
    `Use --endpoint ep_… to send a test event to one, or --all to publish to every endpoint that chose ${type}.`,
  );
}

interface Volley {
  readonly count: number;
  readonly pauseMs: number;
  readonly json: boolean;
}

async function many(shoot: () => Promise<Shot>, { count, pauseMs, json }: Volley, io: Io): Promise<number> {
  const shots: Promise<Shot>[] = [];
  for (let shot = 0; shot < count; shot++) {
    if (shot > 0) await io.sleep(pauseMs);
    const started = shoot();
    started.catch(() => {});
    shots.push(started);
  }
  const exits: number[] = [];
  for (const shot of shots) {
    const { exit, tell } = await shot;
    tell();
    exits.push(exit);
  }
  if (count === 1) return exits[0]!;
  const delivered = exits.filter((exit) => exit === EXIT.ok).length;
  if (!json) note(io, `${delivered} of ${count} delivered.`);
  if (delivered === count) return EXIT.ok;
  return delivered > 0 ? EXIT.partly_done : exits[0]!;
}

async function publish(client: Client, body: string, json: boolean, io: Io): Promise<Shot> {
  const { id, delivery_count: deliveries } = await client.call("publishEvent", { body });
  const waited = await firstAttempts(client, id, io);
  return {
    exit: exitOf(waited.response),
    tell() {
      tellFirst(waited, json, io);
      if (deliveries === 0) note(io, "To receive it here: webhookd listen --register");
    },
  };
}

async function sendTest(
  client: Client,
  { endpoint, type }: { endpoint: string; type: string },
  json: boolean,
  io: Io,
): Promise<Shot> {
  const ask = { id: endpoint, body: { type }, query: { wait: true }, timeoutMs: TEST_TIMEOUT_MS };
  const answer = await client.call("sendTestEvent", ask);
  const attempt = "outcome" in answer ? answer : null;
  const why = attempt === null ? await whyNone(client) : null;
  const exit = exitOfTest(attempt);
  return {
    exit,
    tell() {
      if (json) {
        sayJson(io, answer);
        return;
      }
      say(io, `${attempt?.event ?? answer.id}  ${type}  (test)`);
      if (attempt === null) {
        say(io, `Not attempted yet: ${why ?? "no answer so far"}.`);
        return;
      }
      say(io, `  ${endpoint}  ${hostOf(attempt.url)}  ${resultOf(attempt)}`);
      if (exit !== EXIT.ok) for (const line of answerLines(attempt)) say(io, `  ${line}`);
      say(io, exit === EXIT.ok ? "Delivered." : "Not delivered.");
    },
  };
}

function exitOfTest(attempt: Attempt | null): number {
  if (attempt === null) return EXIT.wait_ran_out;
  return attempt.outcome === "succeeded" ? EXIT.ok : EXIT.answer_is_no;
}

const SPECIFIED = "as specified";
const UNSPECIFIED = "an example; the specification has none";

async function listTypes(client: Client, json: boolean, io: Io): Promise<number> {
  const { data } = await client.call("listEventTypes");
  if (json) sayJson(io, { data });
  else {
    const rows = data.map(({ name, description, source, deprecated, archived }) => [
      name,
      source === "specified" ? SPECIFIED : UNSPECIFIED,
      `${archived ? "archived: " : deprecated ? "deprecated: " : ""}${description}`,
    ]);
    sayTable(io, [["TYPE", "DATA", "DESCRIPTION"], ...rows]);
  }
  return EXIT.ok;
}
