import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { command } from "../command.ts";
import { programAt } from "../daemon/banner.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { glyphsOf } from "../output/glyphs.ts";
import type { Io } from "../io.ts";
import { say } from "../output/print.ts";
import { readDuration } from "../values.ts";
import { DELAYS, FAILURES, openSite, type DemoSite } from "./demo-site.ts";
import { requestLine } from "./listen/request-line.ts";
import { count } from "../output/words.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const EVERY_MS = 1000;
/** The longest time until a signal is noticed. */
const STEP_MS = 100;

export const demo = command({
  args: { for: { type: "string", valueHint: "DURATION", description: "Stop after this long [run until Ctrl-C]" } },
  examples: ["webhookd demo", "webhookd demo --for 30s"],
  async run(args, io) {
    const forMs = args.for === undefined ? Number.POSITIVE_INFINITY : readDuration(args.for, "--for");
    const stop = watch(io);
    try {
      const counts = { taken: 0, refused: 0 };
      const glyphs = glyphsOf(io);
      const site = await openSite(io, (name, reception) => {
        counts[reception.status === 200 ? "taken" : "refused"] += 1;
        say(io, `${name.padEnd(5)} ${requestLine(reception, glyphs)}`);
        if (counts.refused === FAILURES && reception.status !== 200) say(io, RECOVERED);
      });
      stop.atSecond(site.remove);
      try {
        introduce(site, io);
        const events = await traffic(site, { forMs, isStopped: stop.isStopped }, io);
        say(
          io,
          `${count(events, "event", "events")}: ${count(counts.taken, "request", "requests")} answered 200, ${counts.refused} refused.`,
        );
      } finally {
        await site.close();
      }
      say(io, `Stopped, and removed ${site.dir}.`);
      return EXIT.ok;
    } finally {
      stop.forget();
    }
  },
});

const RECOVERED = "flaky has recovered. What failed there can be replayed, as above.";

function introduce({ dir, target, receivers }: DemoSite, io: Io): void {
  const program = programAt(io.configInputs({}));
  const answers = { good: "answers 200", flaky: `answers 500 to its first ${FAILURES} requests, then 200` };
  for (const line of [
    `A daemon, two receivers and an event a second, in ${dir}; nothing leaves this machine.`,
    ...receivers.map(({ name, url }) => `  ${name.padEnd(5)} ${url}  ${answers[name]}`),
    `Retries come after ${DELAYS.replaceAll(",", ", ")} here, much sooner than by default.`,
    "From another terminal, look at it and replay what failed:",
    `  ${program} tui ${target}`,
    `  ${program} failures ${target}`,
    `  ${program} replay --all-failed ${target}`,
    "Ctrl-C stops it and removes everything.",
  ])
    say(io, line);
}

interface Traffic {
  readonly forMs: number;
  readonly isStopped: () => boolean;
}

/** Publishes one event a second, taking the types in turn. Resolves to the number of events. */
async function traffic({ client, failed }: DemoSite, { forMs, isStopped }: Traffic, io: Io): Promise<number> {
  const end = io.monotonic() + forMs;
  let fault: Error | null = null;
  unawaited(failed.then((error) => (fault = error)));
  let events = 0;
  while (!isStopped() && io.monotonic() < end) {
    const { name, sample } = BUILT_IN_TYPES[events % BUILT_IN_TYPES.length]!;
    await client.call("publishEvent", { body: { type: name, data: sample } });
    events += 1;
    for (let slept = 0; slept < EVERY_MS && !isStopped(); slept += STEP_MS) await io.sleep(STEP_MS);
    if (fault !== null) throw new Failure("storage_failed", `the daemon cannot continue: ${(fault as Error).message}`);
  }
  return events;
}

/**
 * The first signal, or a reader that closes the pipe, ends the demo. The second one ends it without waiting, but leaves
 * nothing behind either.
 */
function watch(io: Io) {
  let signals = 0;
  let isStopped = false;
  let last = () => {};
  const forget = io.onSignal((signal) => {
    isStopped = true;
    if (++signals === 1) return;
    last();
    io.exit(signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm);
  });
  io.stdout.onClosed(() => (isStopped = true));
  return { isStopped: () => isStopped, atSecond: (run: () => void) => void (last = run), forget };
}
