/** The scheduled tasks of the daemon, for one process. */
import type { Clock } from "../../src/clock.ts";
import type { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import { JobRunner } from "../../src/jobs/runner.ts";
import { silentLog } from "../../src/log.ts";
import type { Store } from "../../src/store/store.ts";
import { Retention } from "../../src/upkeep/retention.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

export interface ChoresParts {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onFault: (error: unknown) => void;
  /** Runs every second, before the other tasks. */
  readonly endOverlaps: () => Promise<void>;
}

export interface ChoresToDo {
  /** True if the dispatcher looks each minute for deliveries that it has lost. */
  readonly sweeps: boolean;
  readonly runsJobs: boolean;
  /** Milliseconds for which ended events are kept. 0 keeps them for ever. */
  readonly retention: number;
}

const SWEEP_MS = 60_000;
const HASTEN_MS = 10_000;
const PRUNE_MS = 5000;
const NEVER = { delivered: 0, failed: 0, held: 0, responseBodies: 0, audit: 0, statistics: 0 };

export function startChores(parts: ChoresParts, { sweeps, runsJobs, retention: period }: ChoresToDo): void {
  const { clock, dispatcher, endOverlaps, onFault, signal, store } = parts;
  const lookAtSpace = async (isTime: boolean) => {
    if (isTime || (await store.upkeep.condition()).state !== "ready") await store.upkeep.checkSpace();
  };
  let ticks = 0;
  const tick = () => {
    dispatcher.tick();
    // Checks of the real disk are rare, because they find the same each time.
    lookAtSpace(ticks++ % 60 === 0).catch(() => {});
    endOverlaps().catch(onFault);
    clock.after(1000, tick);
  };
  clock.after(1000, tick);
  const sweep = () => {
    unawaited(dispatcher.sweep());
    clock.after(SWEEP_MS, sweep);
  };
  if (sweeps) clock.after(SWEEP_MS, sweep);
  if (sweeps) every(clock, HASTEN_MS, () => dispatcher.hasten(), onFault);
  const jobs = new JobRunner({ store, deliveries: dispatcher, clock, signal });
  if (runsJobs) every(clock, 1000, () => jobs.run(), onFault);
  if (period === 0) return;
  const rules = { ...NEVER, delivered: period, held: period, responseBodies: period };
  const retention = new Retention({ store, clock, signal, log: silentLog, rules: () => rules });
  every(clock, PRUNE_MS, () => retention.pruneEvents(), onFault);
  every(clock, PRUNE_MS, () => retention.expireHeld(), onFault);
  every(clock, PRUNE_MS, () => retention.forgetResponses(), onFault);
}

/** Runs `run` every `ms`, and never twice at once. An error of a full disk is ignored. */
function every(clock: Clock, ms: number, run: () => Promise<void>, onFault: (error: unknown) => void): void {
  const again = () => void clock.after(ms, once);
  const once = () => {
    run()
      .catch((error: unknown) => (error instanceof WebhookdError ? undefined : onFault(error)))
      .then(again, again);
  };
  again();
}
