/**
 * The way out, put together: what memory holds goes to the sender, and what comes of it to the disk, or back into its
 * turn.
 */
import type { Claim } from "../domain/delivery.ts";
import type { Halt } from "../domain/pause.ts";
import { CarefulSending } from "./careful-sending.ts";
import { ClockShift } from "./clock-shift.ts";
import { Disabling } from "./disabling.ts";
import type { DispatcherParts } from "./dispatcher-parts.ts";
import { Ends } from "./ends.ts";
import { Forgetting } from "./forgetting.ts";
import { Handing } from "./handing.ts";
import { OutageWatch } from "./outage-watch.ts";
import { Pauses } from "./pauses.ts";
import { Recorder, type EndedClaim, type RecorderParts } from "./recorder.ts";
import { Releases } from "./releases.ts";
import type { Sending } from "./send/sending.ts";
import { Shortage } from "./shortage.ts";
import { Targets } from "./targets.ts";
import { Windows } from "./windows.ts";
import { Withdrawal } from "./withdrawal.ts";

/** What others hear of the way out. */
export interface OutboundNews {
  readonly onReleased: (delivery: string) => void;
  /** Something on disk is due, or has room now. */
  readonly wake: () => void;
  /** All of a commit's results were told. */
  readonly onCommitted: () => void;
  /** Something has come to its end. */
  readonly onRest: () => void;
  /** By the daemon itself: resolves once nothing more is started for it. */
  readonly onDisabled: (endpoint: string) => Promise<void>;
}

export class Outbound {
  readonly windows = new Windows();
  readonly sending: Sending;
  readonly pauses: Pauses;
  readonly targets: Targets;
  readonly shift: ClockShift;
  readonly recorder: Recorder;
  readonly releases: Releases;
  readonly forgetting: Forgetting;
  readonly withdrawal: Withdrawal;
  readonly handing: Handing;
  readonly outage: OutageWatch;
  readonly shortage: Shortage;
  /** Null while nothing is suspected. */
  readonly #careful: CarefulSending | null;

  constructor(parts: DispatcherParts, news: OutboundNews) {
    const { clock, store } = parts;
    const { windows } = this;
    const { onRest, wake } = news;
    const given = parts.sending((batch) => ends.take(batch));
    const careful = store.recovery.careful ? new CarefulSending(given, store, parts.onFault) : null;
    this.#careful = careful;
    const sending = (this.sending = careful ?? given);
    const pauses = (this.pauses = new Pauses(sending, clock));
    const targets = (this.targets = new Targets(store, sending));
    const onReleased = (delivery: string) => {
      withdrawal.released(delivery);
      news.onReleased(delivery);
    };
    this.releases = new Releases({ clock, windows, onReleased });
    const { release } = this.releases;
    const forgetting = (this.forgetting = new Forgetting({
      ...parts,
      sending,
      windows,
      now: () => clock.now(),
      release,
    }));
    const withdrawal = (this.withdrawal = new Withdrawal({
      takeBack: (endpoint) => forgetting.takeBack(endpoint),
      windows,
      release,
      resend: (endpoint, claims) => this.handing.send(endpoint, claims),
    }));
    this.handing = new Handing({ ...parts, sending, targets, withdrawal, forgetting, release, wake, onRest });
    this.shift = this.#clockShift(parts);
    const recorder = (this.recorder = this.#recorder(parts, news, (claim, waiting) => ends.recorded(claim, waiting)));
    const shortage = (this.shortage = new Shortage({ ...parts, again: this.again }));
    const outage = (this.outage = this.#outageWatch(parts, (ended) => ends.record(ended)));
    const disabling = disablingOf(parts, news);
    const ends = new Ends({ clock, windows, pauses, sending, shortage, outage, disabling, recorder, release, wake });
  }

  /** What is held takes its turn again. */
  readonly again = (claim: Claim): void => this.handing.send(claim.endpoint, [claim]);

  /** Each second: what the store did not take is tried again. */
  retry(): void {
    this.recorder.retry();
    this.#careful?.retry();
    for (const claim of this.forgetting.takeRefused()) this.again(claim);
  }

  /** From now on, for good. */
  startNothing(): void {
    void this.pauses.begin("stopping", "the daemon stops");
    this.outage.stop();
    this.shortage.stop();
  }

  /** Every reason why nothing is sent, or less than could be. */
  get halts(): readonly Halt[] {
    const { halt } = this.shortage;
    return halt === null ? this.pauses.all : [...this.pauses.all, halt];
  }

  get stopping(): boolean {
    return this.pauses.has("stopping");
  }

  #clockShift(parts: DispatcherParts): ClockShift {
    return new ClockShift({
      ...parts,
      endpoints: () => this.windows.endpoints(),
      written: () => this.recorder.written(),
      onMoved: (waiting) => this.windows.noteWaiting(waiting),
      onStep: (by) => parts.log.warn({ step_ms: Math.round(by) }, "the clock was set; due times move with it"),
    });
  }

  #recorder(parts: DispatcherParts, { onCommitted }: OutboundNews, onRecorded: RecorderParts["onRecorded"]): Recorder {
    const { pauses, shift, targets } = this;
    return new Recorder({
      ...parts,
      shift,
      tenantOf: (endpoint) => targets.tenantOf(endpoint),
      onRecorded,
      onCommitted,
      onStuck: () => void pauses.begin("unrecorded", "results of attempts cannot be recorded"),
      onFlowing: () => pauses.end("unrecorded"),
    });
  }

  #outageWatch(parts: DispatcherParts, record: (ended: readonly EndedClaim[]) => void): OutageWatch {
    const { pauses, sending, shortage } = this;
    return new OutageWatch({
      ...parts,
      record,
      again: (ended) => ended.forEach(({ claim }) => this.again(claim)),
      rest: (ended) => ended.forEach(({ claim, ended: { outcome } }) => shortage.wait(claim, outcome.detail)),
      pause: (why) => void pauses.begin("unreachable", why),
      probe: () => void (pauses.isOnly("unreachable") && sending.probe()),
      resume: () => pauses.end("unreachable"),
    });
  }
}

function disablingOf(parts: DispatcherParts, { onDisabled }: OutboundNews): Disabling {
  return new Disabling({
    ...parts,
    rules: parts.disabling ?? { onGone: false, afterMs: 0 },
    onDisabled: (endpoint, reason) => {
      parts.watcher?.disabled(endpoint, reason);
      return onDisabled(endpoint);
    },
  });
}
