import { isDeepStrictEqual } from "node:util";
import { version } from "../../src/build.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import type { Target } from "../../src/client/exchange.ts";
import type { Status } from "../../src/client/operations.ts";
import { isAway } from "../away.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect, findTarget } from "../target.ts";
import { readDuration } from "../values.ts";
import { readConditions, type Condition } from "./conditions.ts";
import { troublesOf } from "./halts.ts";
import { readHealth, type Health, type Seen } from "./health.ts";
import { deliveryLines, hostLines, nextLine, sayFailing, sendingLines } from "./status-text.ts";

const WAIT_MS = 30_000;
const POLL_MS = 200;
/** Limits a request for the status, and also the last request after the time is up. */
const LOOK_MS = 10_000;
const LAST_LOOK_MS = 1000;

const ARGS = {
  wait: {
    type: "boolean",
    description: "Wait up to 30 s for the daemon to accept events, even if it is not running yet",
  },
  brief: { type: "boolean", description: "Show only the daemon and skip deliveries, for probes" },
  ready: {
    type: "boolean",
    description: "Exit 0 while events are accepted, even if nothing can be sent, as /readyz does; for health checks",
  },
  watch: {
    type: "string",
    bare: "2s",
    valueHint: "DURATION",
    description: "Repeat at this interval; without a value, every 2s",
  },
  "fail-on": {
    type: "string",
    valueHint: "A,B",
    description:
      "Also exit 8 on failing or damaged (an endpoint), backlog>N (waiting deliveries), oldest>DURATION (overdue)",
  },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const status = command({
  args: ARGS,
  examples: [
    "webhookd status",
    "webhookd status --wait --json",
    "webhookd status --watch",
    "webhookd status --fail-on failing,damaged,backlog>1000,oldest>10m",
  ],
  async run(args, io) {
    const conditions = args["fail-on"] === undefined ? [] : readConditions(args["fail-on"]);
    const everyMs = args.watch === undefined ? null : readDuration(args.watch, "--watch");
    if (everyMs !== null) return watch(args, { conditions, everyMs }, io);
    const status = args.wait ? await waitUntilReady(args, io) : await connect(args, io).call("getStatus");
    const exit = await tell(connect(args, io), status, { ...args, conditions }, io);
    return args.wait && status.state !== "ready" ? EXIT.wait_ran_out : exit;
  },
});

interface Telling {
  readonly conditions: readonly Condition[];
  readonly brief: boolean;
  readonly ready: boolean;
  readonly json: boolean;
}

/** Shows the status. Resolves to the exit code. */
async function tell(
  client: Client,
  status: Status,
  { conditions, brief, ready, json }: Telling,
  io: Io,
): Promise<number> {
  const now = io.now();
  const needed = new Set(conditions.flatMap(({ needs }) => needs ?? []));
  const isBrief = brief && needed.size === 0;
  const health: Health = isBrief
    ? { statistics: null, failing: null, busiest: null, open_jobs: null }
    : await readHealth(client, needed, now);
  const seen: Seen = { ...status, ...health };
  const met = conditions.flatMap(({ name, met }) => {
    const what = met(seen, now);
    return what === null ? [] : [{ name, what }];
  });
  if (json) sayJson(io, { ...(isBrief ? status : seen), ...(conditions.length > 0 && { failed_on: met }) });
  else {
    for (const line of [...sendingLines(status, now), ...deliveryLines(seen, now)]) say(io, line);
    sayFailing(io, health.failing ?? [], now);
    for (const line of hostLines(status, now)) say(io, line);
    if (!isBrief) say(io, `  next      ${nextLine(seen)}`);
    for (const { name, what } of met) note(io, `-- ${name}: ${what} --`);
  }
  // A restart, which is what a failed health check may lead to, does not help if nothing can be reached.
  const isWell = status.state === "ready" && (ready || troublesOf(status).length === 0);
  return isWell && met.length === 0 ? EXIT.ok : EXIT.answer_is_no;
}

interface Watching {
  readonly conditions: readonly Condition[];
  readonly everyMs: number;
}

/** Runs until it is interrupted, the reader is gone, or a condition of `--fail-on` is met. */
async function watch(args: Args, { conditions, everyMs }: Watching, io: Io): Promise<number> {
  const draws = !args.json && io.stdout.isTTY && io.env.TERM !== "dumb";
  const client = connect(args, io);
  let stop = () => {};
  const ended = new Promise<number>((resolve) => {
    stop = io.onSignal((signal) => resolve(signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm));
    io.stdout.onClosed(() => resolve(EXIT.ok));
  });
  const look = async (isFirst: boolean): Promise<number | null> => {
    try {
      const status = await client.call("getStatus");
      if (draws) io.stdout.write(`${isFirst ? "\x1b[2J" : ""}\x1b[H\x1b[J`);
      const exit = await tell(client, status, { ...args, conditions }, io);
      if (exit !== EXIT.ok && conditions.length > 0) return exit;
    } catch (error) {
      if (isFirst || !isAway(error)) throw error;
      note(io, `-- ${(error as Error).message}; trying again --`);
    }
    await io.sleep(everyMs);
    return null;
  };
  try {
    for (let isFirst = true; ; isFirst = false) {
      const exit = await Promise.race([ended, look(isFirst)]);
      if (exit !== null) return exit;
    }
  } finally {
    stop();
  }
}

/** Returns the last status when the time is up. It is an error if the daemon still cannot be reached then. */
async function waitUntilReady(args: Args, io: Io): Promise<Status> {
  const end = io.monotonic() + WAIT_MS;
  for (;;) {
    const leftMs = end - io.monotonic();
    const isOver = leftMs <= 0;
    let target: Target | null = null;
    try {
      // Find the target again each time, because a starting daemon creates its socket.
      target = findTarget(args, io);
      // A hung daemon accepts the request and never answers.
      const client = createClient(target, { version, timeoutMs: Math.min(LOOK_MS, Math.max(LAST_LOOK_MS, leftMs)) });
      const status = await client.call("getStatus");
      if (status.state === "ready" || isOver) return status;
    } catch (error) {
      // The socket may exist by now. Unlike the port, which the daemon opens later, it needs no key.
      const isElsewhere = target !== null && !isDeepStrictEqual(findTarget(args, io), target);
      if (!isAway(error) && !isElsewhere) throw error;
      if (isOver) throw new Failure("wait_ran_out", `${(error as Error).message}; waited 30s`);
    }
    await io.sleep(POLL_MS);
  }
}
