import type { Client } from "../../src/client/client.ts";
import { DELIVERY_WORDS, type FilterWord } from "../../src/client/filter.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { type ArgsOf, CLIENT, command, FILTER, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { glyphsOf } from "../output/glyphs.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { readCount, readQuery } from "../values.ts";
import type { TailItem } from "./change.ts";
import { Following } from "./follow.ts";
import { countLine, lineOf } from "./line.ts";
import { Wants } from "./wanted.ts";

const HISTORY = 10;
const MOST_HISTORY = 1000;
/** `until` makes no sense for future changes, and the stream leaves tests out. */
const WORDS = DELIVERY_WORDS.filter((word) => word !== "until" && word !== "test");
/** The statuses that a change can have. */
const STATUSES = ["pending", "delivered", "failed", "cancelled"];

const { until: _, ...FILTERS } = FILTER;

const ARGS = {
  ...FILTERS,
  tenant: TENANT,
  since: { ...FILTER.since, description: "Start with deliveries received since this time" },
  lines: {
    type: "string",
    alias: "n",
    valueHint: "N",
    description: "Start with the latest N deliveries [10; with --since all, up to 1000]",
  },
  attempts: {
    type: "boolean",
    description: "Show only attempts, not publishing, cancelling and other changes",
  },
  "exit-after": { type: "string", valueHint: "N", description: "Exit after N lines" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const eventsTail = command({
  args: ARGS,
  examples: [
    "webhookd events tail",
    "webhookd events tail --status failed --since 10m",
    "webhookd events tail --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --attempts -n 0 --exit-after 1 --json",
  ],
  /** Runs until it is interrupted, the reader is gone, or `--exit-after` lines were printed. */
  async run(args, io) {
    const words = readWords(await withWholeIds(args, io), io.now());
    const history =
      args.lines === undefined
        ? words.since === undefined
          ? HISTORY
          : MOST_HISTORY
        : readCount(args.lines, "--lines", { min: 0, max: MOST_HISTORY });
    const limits = { min: 1, max: 999_999_999 };
    const most = args["exit-after"] === undefined ? Infinity : readCount(args["exit-after"], "--exit-after", limits);
    const client = connect(args, io);
    const end = new AbortController();
    let exit: number = EXIT.ok;
    const stop = io.onSignal((signal) => {
      exit = signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm;
      end.abort();
    });
    io.stdout.onClosed(() => end.abort());
    try {
      await tell(client, { words, history, most, ...args, signal: end.signal }, io);
      return exit;
    } finally {
      end.abort();
      stop();
    }
  },
});

interface Telling {
  readonly words: { readonly [W in FilterWord]?: string };
  readonly history: number;
  /** The number of lines after which to exit. */
  readonly most: number;
  readonly attempts: boolean;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

async function tell(client: Client, { words, history, most, attempts, json, signal }: Telling, io: Io): Promise<void> {
  const { status, endpoint, tenant, ...rest } = words;
  const following = new Following(
    client,
    { query: { status, endpoint, tenant }, listQuery: rest, history, signal },
    io,
  );
  const wants = new Wants(client, { ...rest, attempts });
  const show = json ? (item: TailItem) => sayJson(io, jsonOf(item)) : lines(io);
  let said = 0;
  for await (const item of following.changes()) {
    if (signal.aborted) return;
    if (item.kind === "note") {
      show(item);
      continue;
    }
    if (item.kind === "counts") {
      const counted = wants.counted(item.data.data);
      if (counted.length === 0) continue;
      show({ ...item, data: { data: counted } });
    } else if (await wants.has(item)) show(item);
    else continue;
    if (++said >= most) return;
  }
}

function lines(io: Io): (item: TailItem) => void {
  const glyphs = glyphsOf(io);
  return (item) => {
    if (item.kind === "note") note(io, item.text);
    else if (item.kind === "counts") for (const counted of item.data.data) say(io, countLine(counted));
    else say(io, lineOf(item, glyphs));
  };
}

function jsonOf(item: TailItem): object {
  return item.kind === "note" ? item.data : { kind: item.kind, ...item.data };
}

/** Throws a Failure for filters that make no sense here. */
function readWords(args: Args, now: number): { readonly [W in FilterWord]?: string } {
  const words = readQuery(args, now, WORDS);
  if (words.status !== undefined && !STATUSES.includes(words.status)) {
    const near = nearest(words.status, STATUSES);
    const hint = near === null ? `It takes ${STATUSES.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`a delivery never changes to ${words.status}`, hint);
  }
  return words;
}
