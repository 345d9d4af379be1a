import { heldKeysText } from "./held-keys.ts";
import type { Attempt, EndpointWithHealth } from "../../src/client/operations.ts";
import { heldKeyCommands } from "../../src/domain/advice/held-key.ts";
import { answerOf, resultOf } from "../attempts/text.ts";
import { CLIENT, command } from "../command.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { sayColumns } from "../output/table.ts";
import { connect } from "../target.ts";
import { readCount } from "../values.ts";
import { age, ago, grouped } from "../output/words.ts";
import { noteLines } from "./event-types.ts";
import { authText } from "../../src/client/auth-text.ts";
import { fieldText, repairOf, stateOf } from "./text.ts";

export const endpointsShow = command({
  args: {
    endpoint: ENDPOINT,
    attempts: { type: "string", default: "5", valueHint: "N", description: "How many of the latest attempts to show" },
    ...CLIENT,
  },
  examples: [
    "webhookd endpoints show ep_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd endpoints show ep_01m7w8bx02jeyjr53r14y5rmma --attempts 20",
  ],
  async run(args, io) {
    const limit = readCount(args.attempts, "--attempts", { min: 0, max: 100 });
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const endpoint = await client.call("getEndpoint", { id });
    if (args.json) {
      sayJson(io, endpoint);
      return EXIT.ok;
    }
    // Fetch the attempts before printing anything: half an answer is worse than none.
    const attempts = limit === 0 ? null : await client.call("listEndpointAttempts", { id, query: { limit } });
    show(endpoint, await noteLines(endpoint.events, client), io);
    if (attempts !== null) showAttempts(id, attempts.data, io);
    return EXIT.ok;
  },
});

function showAttempts(id: string, attempts: readonly Attempt[], io: Io): void {
  if (attempts.length === 0) {
    say(io, `nothing has been sent to it yet; to try it: webhookd endpoints test ${id}`);
    return;
  }
  say(io, "latest attempts");
  const cells = (text: (attempt: Attempt) => string) => attempts.map(text);
  sayColumns(io, [
    // An empty column puts two spaces before the others.
    { title: "", cells: cells(() => "") },
    {
      title: "STARTED",
      cells: cells(({ started_at: at }) => at),
      brief: cells(({ started_at: at }) => age(at, io.now())),
      rank: 8,
    },
    { title: "EVENT", cells: cells(({ event }) => event) },
    { title: "TRY", cells: cells(({ number }) => String(number)), rank: 7 },
    { title: "OUTCOME", cells: cells(({ outcome }) => outcome), rank: 6 },
    { title: "ANSWER", cells: cells(resultOf), brief: cells(answerOf) },
    {
      title: "DETAIL",
      cells: cells(({ outcome, detail }) => (outcome === "succeeded" ? "" : detail)),
      least: 12,
      rank: 9,
    },
  ]);
}

/** Fields that `show` puts into words. Other fields are printed as they are. */
const SAID: ReadonlySet<string> = new Set<keyof EndpointWithHealth>([
  "id",
  "url",
  "enabled",
  "when_disabled",
  "disabled_reason",
  "damaged",
  "events",
  "filter",
  "health",
  "ordering",
  "after_failure",
  "format",
  "trace_context",
  "description",
  "uid",
  "rate_per_second",
  "max_in_flight",
  "headers",
  "auth",
  "ca",
  "metadata",
  "secret_switches_at",
  "tenant",
  "created_at",
  "updated_at",
]);

function show(endpoint: EndpointWithHealth, notes: readonly string[], io: Io): void {
  const { health } = endpoint;
  const last = (instant: string | null) => (instant === null ? "never" : `${instant}, ${ago(instant, io.now())}`);
  const waits = `${grouped(health.pending)} pending, ${grouped(health.held)} held, ${grouped(health.failed)} failed`;
  const inARow = health.consecutive_failures === 0 ? "" : `; ${grouped(health.consecutive_failures)} in a row`;
  say(io, `${endpoint.id}  ${stateOf(endpoint)}  ${endpoint.url}`);
  const { damaged } = endpoint;
  const others = Object.entries(endpoint).filter(([name]) => !SAID.has(name));
  sayFields(io, [
    ["damaged", damaged ? `${damaged.reason}; nothing is sent to it, and its deliveries wait` : null],
    ["to repair", damaged ? repairOf(endpoint.id, damaged.parts, endpoint.tenant) : null],
    ["to enable", endpoint.enabled || damaged ? null : `webhookd endpoints enable ${endpoint.id}`],
    ["types", fieldText(endpoint.events)],
    ...notes.map((line) => ["", line] as const),
    ["filter", otherText(endpoint.filter)],
    ["deliveries", waits],
    ...heldKeysRows(endpoint, io.now()),
    ["last success", last(health.last_success_at)],
    ["last failure", `${last(health.last_failure_at)}${inARow}`],
    ["description", endpoint.description],
    ["uid", endpoint.uid],
    ["rate", endpoint.rate_per_second === null ? null : `at most ${endpoint.rate_per_second} per second`],
    ["in flight", endpoint.max_in_flight === null ? null : `at most ${endpoint.max_in_flight} at a time`],
    ["headers", Object.keys(endpoint.headers).join(", ")],
    ["auth", authText(endpoint)],
    ["authorities", endpoint.ca ? "its own" : null],
    ["metadata", otherText(endpoint.metadata)],
    ["format", endpoint.format === "envelope" ? null : endpoint.format],
    ["trace context", endpoint.trace_context ? "sent to the receiver" : null],
    ...others.map(([name, value]) => [name.replaceAll("_", " "), otherText(value)] as const),
    ["rotation", rotationText(endpoint)],
    ["tenant", endpoint.tenant],
    ["created", endpoint.created_at],
    ["updated", endpoint.updated_at === endpoint.created_at ? null : endpoint.updated_at],
  ]);
}

/** An older daemon does not report held keys. */
function heldKeysRows({ id, health }: EndpointWithHealth, now: number): [string, string][] {
  const { held_keys: held } = health as Partial<EndpointWithHealth["health"]>;
  if (!held) return [];
  return [
    ["held keys", heldKeysText(held, now)],
    ...heldKeyCommands(id, held.event).map(({ purpose, line }): [string, string] => [purpose, line]),
  ];
}

function otherText(value: unknown): string | null {
  const text = fieldText(value);
  return text === "-" ? null : text;
}

function rotationText({ id, secret_switches_at: at }: EndpointWithHealth): string | null {
  if (at === null) return null;
  return `the next secret takes over at ${at}; to let it take over now: webhookd endpoints rotate-secret ${id} --complete`;
}
