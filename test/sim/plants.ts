/** Bugs planted on purpose, to show that the simulation finds them. */
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { Executor } from "../../src/delivery/executor.ts";
import { Window, Windows } from "../../src/delivery/memory/windows.ts";
import { Asking } from "../../src/domain/events/filter/verdicts.ts";
import { AddressPolicy } from "../../src/domain/network/address.ts";
import { Attempts } from "../../src/store/sqlite/attempts/attempts.ts";
import { Prune } from "../../src/store/sqlite/events/prune.ts";
import { EndpointIndex } from "../../src/store/sqlite/numbers/endpoint-index.ts";
import { Lines } from "../../src/store/sqlite/ordering/lines.ts";
import type { JobStep, Recorded, Replay, Shifted } from "../../src/store/store.ts";
import type { Kinds } from "./kinds.ts";
import { LADDER } from "./ladder.ts";

export interface Plant {
  readonly ladder?: readonly number[];
  /** The disk reports syncs that it does not do, which no daemon survives. */
  readonly lies?: boolean;
  /** Commits that are undone report success. */
  readonly forgets?: boolean;
  /** The dispatcher is not notified that an endpoint was disabled or enabled. */
  readonly unheard?: "disable" | "enable";
  /** Replaces the responses of store methods that the dispatcher gets. */
  readonly answers?: Readonly<Record<string, (answer: never, now: number) => unknown>>;
  /** Store methods that report success but do nothing, with their results. */
  readonly undone?: Readonly<Record<string, unknown>>;
  /** Changes the code under test. The returned function undoes the change. */
  readonly patch?: () => () => void;
  /** The kinds of trouble that the bug needs to show. A crash would read everything again and hide it. */
  readonly kinds?: Partial<Kinds>;
  /** Milliseconds of trouble, if the bug shows so rarely that a seed's usual time is too short. */
  readonly lasts?: number;
}

const NO_CRASH = { crash: false, crashAtAwait: false, commits: false, deadly: false };

const plants = {
  none: {},
  "ack-before-commit": { forgets: true },
  "fsync-that-lies": { lies: true, kinds: { crash: true } },
  "early-retry": { ladder: LADDER.map((delay) => delay - 100) },
  /** A replayed delivery is due now, which is behind the horizon. */
  "replay-unheard": {
    answers: {
      "events.replay": (answer: Replay) => (answer.result === "replayed" ? { ...answer, waiting: [] } : answer),
    },
    kinds: { ...NO_CRASH, operators: true },
  },
  /** A result that was recorded late makes its delivery wait for a time that has already passed. */
  "late-result-unheard": {
    answers: {
      "deliveries.record": (answers: readonly Recorded[], now: number) =>
        answers.map((one) => (one.waiting !== null && one.waiting.dueAt <= now ? { ...one, waiting: null } : one)),
    },
    kinds: { ...NO_CRASH, commits: true },
    lasts: 240_000,
  },
  /** The clock is set back, and due times with it. */
  "clock-step-unheard": {
    answers: { "recovery.shiftDue": (answer: Shifted) => ({ ...answer, moved: [] }) },
    kinds: { ...NO_CRASH, clock: true },
  },
  /** Memory gives deliveries back, and forgets that they must be read again. */
  "forgotten-unheard": {
    answers: { "deliveries.park": () => [] },
    kinds: { ...NO_CRASH, receivers: true, bursts: true },
  },
  /** Memory gives fresh deliveries back without parking them, so that only a restart would read them. */
  "forgotten-fresh-unwritten": {
    undone: { "deliveries.park": [] },
    kinds: { ...NO_CRASH, receivers: true, bursts: true },
  },
  /** Nothing may start once a disable was answered. */
  "disable-unheard": { unheard: "disable", kinds: { ...NO_CRASH, holds: true } },
  /** The deliveries of a disabled endpoint are due once it is enabled. */
  "enable-unheard": {
    unheard: "enable",
    kinds: { ...NO_CRASH, holds: true, rotations: false },
  },
  /** Only reads move the horizon, so rows committed behind it are never seen. */
  "horizon-never-lowered": {
    patch: () => {
      const { noteWaiting } = Window.prototype;
      Window.prototype.noteWaiting = function (this: Window, position) {
        this.nextDueAt = Math.min(this.nextDueAt, position.dueAt);
      };
      return () => void (Window.prototype.noteWaiting = noteWaiting);
    },
    kinds: { ...NO_CRASH, operators: true },
  },
  /** The next secret takes over, and the signers are not notified. */
  "switch-unheard": {
    answers: { "secrets.switchDue": () => [] },
    kinds: { ...NO_CRASH, clock: false, disk: false, rotations: true },
  },
  /** After a failed manual attempt the delivery waits behind the horizon, where it is never read. */
  "manual-unheard": {
    answers: {
      "deliveries.record": (answers: readonly Recorded[], now: number) =>
        answers.map((one) =>
          one.result === "applied" && one.waiting !== null && one.waiting.dueAt <= now
            ? { ...one, waiting: null }
            : one,
        ),
    },
    kinds: { ...NO_CRASH, disk: false, hands: true },
    lasts: 240_000,
  },
  /** A result of one attempt is recorded twice. */
  "recorded-twice": {
    patch: () => {
      const real = Executor.prototype.do;
      Executor.prototype.do = function (this: Executor, effects) {
        effects.record.push(...effects.record);
        real.call(this, effects);
      };
      return () => void (Executor.prototype.do = real);
    },
    kinds: NO_CRASH,
  },
  /** An event was cancelled, and memory is not notified. */
  "cancel-unheard": {
    patch: () => {
      const { withdraw } = Dispatcher.prototype;
      Dispatcher.prototype.withdraw = async () => {};
      return () => void (Dispatcher.prototype.withdraw = withdraw);
    },
    kinds: { ...NO_CRASH, receivers: true, bursts: true, hands: true },
  },
  /** An endpoint was deleted, and the senders are not notified. */
  "deletion-unheard": {
    patch: () => {
      const { drop } = Dispatcher.prototype;
      Dispatcher.prototype.drop = async () => {};
      return () => void (Dispatcher.prototype.drop = drop);
    },
    kinds: { ...NO_CRASH, receivers: true, bursts: true, deletions: true },
  },
  /** A job hands deliveries over, and the dispatcher does not take them. */
  "job-unheard": {
    answers: { "jobs.step": (step: JobStep) => ({ ...step, waiting: [], requested: [] }) },
    kinds: { ...NO_CRASH, operators: false, jobs: true },
  },
  /** An attempt was made, and its row is not written. */
  "attempt-unwritten": {
    patch: () => {
      const { add } = Attempts.prototype;
      Attempts.prototype.add = function (this: Attempts, ...attempt) {
        if (attempt[2].claim.number !== 2) add.apply(this, attempt);
      };
      return () => void (Attempts.prototype.add = add);
    },
    kinds: NO_CRASH,
  },
  /** Ended events are pruned at once, and failed ones like delivered ones. */
  "pruned-unsent": {
    patch: () => {
      const { prune } = Prune.prototype;
      Prune.prototype.prune = function (this: Prune, { delivered }, from, now) {
        return prune.call(this, { delivered, failed: delivered }, from, now);
      };
      return () => void (Prune.prototype.prune = prune);
    },
    kinds: { ...NO_CRASH, clock: false, prunes: true },
  },
  /** Every address that a name has is dialled. */
  "guard-asleep": {
    patch: () => {
      const { check } = AddressPolicy.prototype;
      AddressPolicy.prototype.check = () => null;
      return () => void (AddressPolicy.prototype.check = check);
    },
    kinds: { ...NO_CRASH, addresses: true },
  },
  /** The egress rules change, and the senders keep the old ones. */
  "rules-unheard": {
    patch: () => {
      const { setEgress } = Dispatcher.prototype;
      Dispatcher.prototype.setEgress = () => {};
      return () => void (Dispatcher.prototype.setEgress = setEgress);
    },
    kinds: { ...NO_CRASH, addresses: true },
  },
  /** Filters accept every event. */
  "filters-asleep": {
    patch: () => {
      const { recipients } = Asking.prototype;
      Asking.prototype.recipients = (_, endpoints) => endpoints;
      return () => void (Asking.prototype.recipients = recipients);
    },
    kinds: { ...NO_CRASH, choices: true },
  },
  /** An endpoint chose other events, and the index of endpoints is not notified. */
  "choice-unheard": {
    patch: () => {
      const { changed } = EndpointIndex.prototype;
      EndpointIndex.prototype.changed = () => {};
      return () => void (EndpointIndex.prototype.changed = changed);
    },
    kinds: { ...NO_CRASH, choices: true },
  },
  /** Deliveries that memory gives back are never taken back. */
  "full-for-good": {
    patch: () => {
      const { takeBack } = Executor.prototype;
      Executor.prototype.takeBack = async () => [];
      return () => void (Executor.prototype.takeBack = takeBack);
    },
    kinds: { ...NO_CRASH, disk: false, outages: false, receivers: true, bursts: true },
  },
  /** Memory releases deliveries, and still counts them. */
  "counted-on": {
    patch: () => {
      const { release } = Windows.prototype;
      Windows.prototype.release = function (this: Windows, endpoint, delivery) {
        this.of(endpoint).release(delivery);
      };
      return () => void (Windows.prototype.release = release);
    },
    kinds: NO_CRASH,
  },
  /** A later delivery in a line of an ordering key is due at once. */
  "any-order": {
    patch: () => {
      const { enter } = Lines.prototype;
      Lines.prototype.enter = function (this: Lines, ...given) {
        return { ...enter.apply(this, given), isBehind: false };
      };
      return () => void (Lines.prototype.enter = enter);
    },
    kinds: { ...NO_CRASH, orders: true, receivers: true },
  },
  /** The next of a line is due, and nobody hears of it. */
  "turn-unheard": {
    patch: () => {
      const { take } = Lines.prototype;
      Lines.prototype.take = () => null;
      return () => void (Lines.prototype.take = take);
    },
    kinds: { ...NO_CRASH, orders: true, receivers: true },
  },
  /** A restored store sends deliveries that were delivered since its backup, before an operator has resumed it. */
  "restore-unpaused": {
    answers: { "operations.getPause": () => null },
    kinds: { ...NO_CRASH, crash: true, restores: true, pauses: false, receivers: true },
  },
} satisfies Record<string, Plant>;

export type PlantName = keyof typeof plants;
export const PLANTS: Readonly<Record<PlantName, Plant>> = plants;
