import type { Attempt, Delivery, Event, EventDelivery } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { formatNamed, sentOwnHeaders } from "../../src/domain/endpoints/body-format.ts";
import { printable } from "../../src/domain/printable.ts";
import { type ArgsOf, byId, CLIENT, command } from "../command.ts";
import { atOnceOf, deliveryLines, worstFirst } from "../deliveries/text.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { note, say, sayFields, sayJsonText } from "../output/print.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { ago, grouped } from "../output/words.ts";
import { eventMeant } from "./by-word.ts";
import { bodyOf, dataOf } from "./body.ts";
import { curlScript } from "./curl.ts";

/** Limits the data that is shown. `--raw` prints all of it. */
const MAX_DATA_CHARS = 3800;

/** Limits the failed deliveries that are shown. Nobody would read more. */
const MAX_FAILED = 50;

const ARGS = {
  event: byId("evt", "Id of the event, or the id that its publisher gave it"),
  raw: { type: "boolean", description: "Print only the body, byte for byte as it is signed and sent" },
  force: { type: "boolean", description: "With --raw: escape nothing, even on a terminal" },
  curl: { type: "boolean", description: "Print a script that sends it once, signed with $WEBHOOKD_SECRET" },
  endpoint: { type: "string", valueHint: "ep_…", description: "With --curl: the endpoint to send to" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const eventsShow = command({
  args: ARGS,
  examples: [
    "webhookd events show evt_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd events show evt_01m7w8bx02jeyjr53r14y5rmma --raw",
    "webhookd events show evt_01m7w8bx02jeyjr53r14y5rmma --curl --endpoint ep_01m7w8bx02jeyjr53r14y5rmma",
  ],
  async run(args, io) {
    checkFlags(args);
    const { client, id } = await eventMeant(args.event, args, io);
    const answer = await client.text("getEvent", { id });
    if (args.raw) sayBody(bodyOf(answer).body.toString(), args.force, io);
    else if (args.curl) io.stdout.write(await curlOf(client, answer, args.endpoint));
    else if (args.json) sayJsonText(io, answer);
    else {
      const attempts = client.every("listEventAttempts", { id, query: { order: "oldest" } });
      const { deliveries } = JSON.parse(answer) as Event;
      const known = { attempts: await Array.fromAsync(attempts), failed: await failedOf(client, answer) };
      show(answer, { ...known, atOnce: await atOnceOf(client, deliveries, io.now()) }, io);
    }
    return EXIT.ok;
  },
});

function checkFlags({ raw, curl, json, force, endpoint }: Args): void {
  const [first, second] = [raw && "--raw", curl && "--curl", json && "--json"].filter((flag) => flag !== false);
  if (second !== undefined) throw usage(`${first} and ${second} cannot be combined`, "Use one of them.");
  if (endpoint !== undefined && !curl) throw usage("--endpoint needs --curl");
  if (force && !raw) throw usage("--force needs --raw");
}

/** On a terminal, escapes characters that could control it. */
function sayBody(body: string, force: boolean, io: Io): void {
  const shown = io.stdout.isTTY && !force ? printable(body, { keepNewlines: true }) : body;
  io.stdout.write(shown);
  if (!io.stdout.isTTY) return;
  io.stdout.write("\n");
  if (shown !== body) note(io, "Some characters are escaped here; in a file or a pipe they appear as they are sent.");
}

async function curlOf(client: Client, answer: string, endpoint: string | undefined): Promise<string> {
  const { id, deliveries } = JSON.parse(answer) as Event;
  const [first, second] = deliveries;
  if (endpoint === undefined && second !== undefined) {
    const hint = `It went to ${deliveries.map((delivery) => delivery.endpoint).join(", ")}.`;
    throw usage("which endpoint? Use --endpoint ep_…", hint);
  }
  const meant = endpoint ?? first?.endpoint;
  if (meant === undefined) throw usage("no endpoint chose it: name one with --endpoint ep_…");
  const target = await findEndpoint(meant, client);
  const { url, headers, format, auth } = await client.call("getEndpoint", { id: target });
  const own = sentOwnHeaders(formatNamed(format), Object.keys(headers));
  return curlScript({
    event: id,
    endpoint: target,
    url,
    sent: bodyOf(answer, format),
    headers: own,
    auth: auth?.type,
  });
}

/**
 * Fetches the failed deliveries of an event that has more deliveries than its response lists, so that none is left out.
 */
async function failedOf(client: Client, answer: string): Promise<readonly Delivery[]> {
  const { id, more_deliveries: more } = JSON.parse(answer) as Event;
  if (!more) return [];
  const query = { event: id, status: "failed", limit: MAX_FAILED };
  return (await client.call("listDeliveries", { query })).data;
}

function erasedText({ erased_at: at }: Pick<Event, "erased_at">, now: number): string {
  return at === null ? "the data was lost: the store is damaged" : `the data was erased ${at}, ${ago(at, now)}`;
}

interface Known {
  readonly attempts: readonly Attempt[];
  readonly failed: readonly Delivery[];
  readonly atOnce: ReadonlyMap<string, number>;
}

function show(answer: string, { attempts, failed, atOnce }: Known, io: Io): void {
  const { data: _, deliveries: some, ...event } = JSON.parse(answer) as Event;
  const now = io.now();
  say(io, `${event.id}  ${event.type}  ${event.status}`);
  sayFields(io, [
    ["received", `${event.received_at}, ${ago(event.received_at, now)}`],
    ["created", event.created_at === event.received_at ? null : event.created_at],
    ["tenant", event.tenant],
    ["publisher's id", event.publisher_id],
    ["tags", event.tags.join(", ")],
    ["ordering key", event.ordering_key],
    ["test", event.test ? "yes: not in lists or statistics" : null],
  ]);
  const deliveries = [...failed, ...some.filter(({ id }) => !failed.some((one) => one.id === id))];
  for (const delivery of worstFirst<EventDelivery>(deliveries)) {
    const own = attempts.filter((attempt) => attempt.delivery === delivery.id);
    const waits = { attempts: own, atOnce: atOnce.get(delivery.endpoint) ?? null };
    for (const line of deliveryLines(delivery, event.id, waits, now)) say(io, line);
  }
  if (deliveries.length === 0) say(io, "no endpoint chose this type when it was published");
  if (event.more_deliveries) {
    const shown = `${deliveries.length} of ${grouped(event.delivery_count)} deliveries shown`;
    say(io, `${shown}; for all: webhookd deliveries list --event ${event.id}`);
  }
  const data = dataOf(answer);
  if (data === null) say(io, erasedText(event, now));
  else {
    say(io, "data");
    const text = data.toString();
    for (const line of printable(text, { keepNewlines: true, max: MAX_DATA_CHARS }).split("\n")) say(io, `  ${line}`);
    if (text.length > MAX_DATA_CHARS) say(io, `  for the whole body: webhookd events show ${event.id} --raw`);
  }
}
