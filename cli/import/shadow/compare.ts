/** `webhookd import compare`: shows what only one of both senders has sent, or would have. */
import type { Client } from "../../../src/client/client.ts";
import { type ArgsOf, CLIENT, command, TENANT } from "../../command.ts";
import { EXIT } from "../../exit-code.ts";
import { usage } from "../../failure.ts";
import type { Io } from "../../io.ts";
import { note, say, sayJson } from "../../output/print.ts";
import { Progress } from "../../output/progress.ts";
import { sayTable } from "../../output/table.ts";
import { count, grouped } from "../../output/words.ts";
import { connect } from "../../target.ts";
import { readDuration, readQuery } from "../../values.ts";
import { shownUrl } from "../text.ts";
import { eventsHere, type Imported, importedFrom } from "./here.ts";
import type { Compared, Found, Sent, Span } from "./sides.ts";
import { sidesOf, type SidesOf, sidesOfLog } from "./sides-there.ts";
import { attemptsOf, ATTEMPTS_FROM, SOURCE } from "./there.ts";

const ARGS = {
  source: SOURCE,
  ...ATTEMPTS_FROM,
  since: { type: "string", default: "1h", valueHint: "TIME", description: "From this instant, or that long ago" },
  until: { type: "string", valueHint: "TIME", description: "Until this instant [as long ago as --slack]" },
  slack: {
    type: "string",
    default: "1m",
    valueHint: "DURATION",
    description: "How far apart both senders may have got an event",
  },
  tenant: TENANT,
  ...CLIENT,
} as const;

export const importCompare = command({
  args: ARGS,
  examples: [
    "webhookd import compare svix --from https://api.eu.svix.com --since 1h",
    "webhookd import compare csv --log sent.jsonl --tenant acme --since 24h --json",
  ],
  run,
});

async function run(args: ArgsOf<typeof ARGS>, io: Io): Promise<number> {
  const span = spanOf(args, io.now());
  const slack = readDuration(args.slack, "--slack");
  const wide = { since: span.since - slack, until: span.until + slack };
  const within = { span, wide, most: MAX_KEPT };
  const attempts = await attemptsOf(args, io);
  const client = connect(args, io);
  const imported = await importedFrom(args.source, args.tenant, client);
  const progress = new Progress(io);
  const compared = new Map<Imported, Compared>();
  try {
    const logged = args.log === undefined ? null : sidesOfLog(args.log, imported, within);
    for (const [tenant, some] of Map.groupBy(imported, (one) => one.tenant)) {
      const sides = logged ?? (await sidesOf(attempts!, some, within));
      await addHere(tenant, sides, wide, client);
      for (const one of some) compared.set(one, sides.get(one.id)!.compared());
      if (compared.size < imported.length) progress.show(`${compared.size} of ${imported.length} endpoints`);
    }
  } finally {
    progress.end();
  }
  report({ compared, span, args }, io);
  return isAllSame(compared.values()) ? EXIT.ok : EXIT.answer_is_no;
}

function spanOf({ since, until, slack }: ArgsOf<typeof ARGS>, now: number): Span {
  // An event that came just now may not be through on both sides yet.
  const query = readQuery({ since, until: until ?? slack }, now, ["since", "until"]);
  const span = { since: Date.parse(query.since!), until: Date.parse(query.until!) };
  if (span.since < span.until) return span;
  throw usage("--since is not before --until", "For example: --since 1h.");
}

/** Keeps the memory bounded: each kept event takes some hundred bytes. */
const MAX_KEPT = 500_000;

async function addHere(tenant: string, sides: SidesOf, wide: Span, client: Client): Promise<void> {
  for await (const { endpoints, ...sent } of eventsHere(tenant, wide, client))
    for (const id of endpoints) sides.get(id)?.here(sent);
}

function isSame({ onlyThere, onlyHere, different }: Compared): boolean {
  return onlyThere.count + onlyHere.count + different.count === 0;
}

/** Nothing is shown by comparing nothing. */
function isAllSame(all: Iterable<Compared>): boolean {
  let both = 0;
  for (const one of all) {
    if (!isSame(one)) return false;
    both += one.both;
  }
  return both > 0;
}

interface Outcome {
  readonly compared: ReadonlyMap<Imported, Compared>;
  readonly span: Span;
  readonly args: ArgsOf<typeof ARGS>;
}

function report({ compared, span, args }: Outcome, io: Io): void {
  if (args.json) return sayJson(io, jsonOf(compared, span));
  const differing = [...compared].filter(([, one]) => !isSame(one));
  const both = [...compared.values()].reduce((sum, one) => sum + one.both, 0);
  const events = `${grouped(both)} ${both === 1 ? "delivery is" : "deliveries are"} the same on both sides`;
  if (differing.length > 0) {
    sayTable(io, [
      ["TENANT", "ENDPOINT", "URL", "SAME", "ONLY THERE", "ONLY HERE", "DIFFERENT"],
      ...differing.map(([{ tenant, there, url }, one]) => [
        tenant,
        there,
        shownUrl(url),
        ...[one.both, one.onlyThere.count, one.onlyHere.count, one.different.count].map(grouped),
      ]),
    ]);
    for (const [{ there }, one] of differing.slice(0, SHOWN)) sayExamples(there, one, io);
    say(io, `${count(differing.length, "endpoint differs", "endpoints differ")} of ${compared.size}; ${events}.`);
  } else if (both === 0) {
    say(io, `Neither side had an event for ${count(compared.size, "endpoint", "endpoints")} in that span.`);
    note(io, `Publish to both for a while, then compare again, or choose another span with --since.`);
  } else say(io, `${count(compared.size, "endpoint", "endpoints")}: ${events}.`);
}

/** The most endpoints of which examples are shown. */
const SHOWN = 10;

function sayExamples(name: string, { onlyThere, onlyHere, different }: Compared, io: Io): void {
  const kinds = [
    ["only there", onlyThere],
    ["only here", onlyHere],
    ["different", different],
  ] as const;
  for (const [what, { examples, count: all }] of kinds)
    for (const [at, example] of examples.entries()) {
      const more =
        at === examples.length - 1 && all > examples.length ? `, and ${grouped(all - examples.length)} more` : "";
      say(io, `  ${name} ${what}: ${exampleText(example)}${more}`);
    }
}

function exampleText({ event, type, publisherId, payload, at }: Sent): string {
  const own = publisherId === null || publisherId === event ? "" : `, publisher's id ${publisherId}`;
  const hash = payload === null ? "" : `, payload ${payload.slice(0, 12)}`;
  return `${type} ${event}${own}${hash}, ${new Date(at).toISOString()}`;
}

function jsonOf(compared: ReadonlyMap<Imported, Compared>, { since, until }: Span) {
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    same: isAllSame(compared.values()),
    endpoints: [...compared].map(([{ tenant, there, id, url }, { both, onlyThere, onlyHere, different }]) => ({
      tenant,
      id: there,
      endpoint: id,
      url: shownUrl(url),
      same: both,
      only_there: foundJson(onlyThere),
      only_here: foundJson(onlyHere),
      different: foundJson(different),
    })),
  };
}

function foundJson({ count: all, types, examples }: Found) {
  return {
    count: all,
    types,
    examples: examples.map(({ event, type, publisherId, payload, at }) => ({
      event,
      type,
      publisher_id: publisherId,
      payload_sha256: payload,
      at: new Date(at).toISOString(),
    })),
  };
}
