/** Sets up the sender of attempts: one on this thread, or threads of senders. */
import { type Clock, DatabaseClock } from "../clock.ts";
import { type Config, egressSettings } from "../config.ts";
import { openFilesLimit, type Network } from "../delivery/http/egress.ts";
import type { SenderSettings } from "../delivery/send/open-sender.ts";
import type { Sending } from "../delivery/send/sender.ts";
import type { SenderThreadData } from "../delivery/threads/messages.ts";
import { ThreadsOnDemand } from "../delivery/threads/on-demand.ts";
import { SenderPool } from "../delivery/threads/sender-pool.ts";
import type { StartThread } from "../delivery/threads/thread-port.ts";
import type { Ended } from "../domain/deliveries/attempt.ts";
import { connectionBudget } from "../domain/files.ts";
import type { Log } from "../log.ts";
import { giveBackMemory } from "../native.ts";
import { startThread } from "../thread.ts";
import { version } from "../build.ts";

/** Below this rate, a thread costs more wake-ups than it saves. */
const BUSY_PER_SECOND = 1000;
/** Starting a thread costs as much as about 6,000 events, so a short burst is better off without one. */
const BUSY_IN_ALL = 20_000;
const REST_MS = 60_000;
/** The rate is limited because moving a thousand endpoints at once took a third of a second. */
const MOVES_PER_SECOND = 400;

export interface SendersParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly network?: Network;
  readonly startSender?: StartThread;
  /** True if a delivery may have killed the process before. Then threads send, because a thread can die alone. */
  readonly isSuspicious: boolean;
}

/** Null if no spans are recorded. */
function sampleRatioOf({ telemetry }: Config): number | null {
  return telemetry.otlp === "" ? null : telemetry.sampleRatio;
}

/** Returns a function that makes the senders, given the receiver of ended attempts. */
export async function loadSenders(
  config: Config,
  { clock, log, network, startSender, isSuspicious }: SendersParts,
): Promise<(onEnded: (batch: readonly Ended[]) => void) => Sending> {
  const { threads, maxInFlight, endpointMaxInFlight, destinationMaxInFlight } = config.delivery;
  const settings: SenderSettings = {
    ...egressSettings(config, config.server.listen.port),
    maxInFlight,
    senders: Math.max(1, threads),
    endpointMaxInFlight,
    destinationMaxInFlight,
    signature: { ...config.signature, version, sampleRatio: sampleRatioOf(config) },
    clockDistance: clock instanceof DatabaseClock ? clock.distance : undefined,
  };
  const openFiles = openFilesLimit();
  const { inFlight } = connectionBudget(openFiles);
  if (inFlight < maxInFlight) {
    const fields = { open_files: openFiles, max_in_flight: maxInFlight };
    log.warn(fields, `at most ${inFlight} attempts are made at once: this process cannot open more files`);
  }
  // The main thread loads the HTTP client only when it first sends.
  const load = () => import("../delivery/send/open-sender.ts");
  if (threads === 0) {
    const { openSender } = await load();
    return (onEnded) => openSender(settings, clock, { onEnded: (ended) => onEnded([ended]) }, network);
  }
  const start = startSender ?? ((data: SenderThreadData) => startThread("sender", data));
  const now = () => clock.now();
  return (onEnded) =>
    new ThreadsOnDemand({
      openHere: async (onEnded) => (await load()).openSender(settings, clock, { onEnded }),
      openThreads: (onEnd, onDeath) =>
        new SenderPool({ threads, start, settings, log, onEnded: onEnd, onDeath, now, clock }),
      busyPerSecond: BUSY_PER_SECOND,
      busyInAll: BUSY_IN_ALL,
      restMs: REST_MS,
      isSuspicious: isSuspicious || startSender !== undefined,
      maxInFlight,
      endpointMaxInFlight,
      movesPerSecond: MOVES_PER_SECOND,
      clock,
      onEnded,
      onThreadsEnded: () => giveBackMemory(config.data.dir),
    });
}
