/** Bugs that are put in on purpose, to see that the simulation can see. */
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { Executor } from "../../src/delivery/executor.ts";
import { Window, Windows } from "../../src/delivery/memory/windows.ts";
import { AddressPolicy } from "../../src/domain/network/address.ts";
import { Attempts } from "../../src/store/sqlite/attempts/attempts.ts";
import { Prune } from "../../src/store/sqlite/events/prune.ts";
import type { JobStep, Recorded, Replay, Shifted } from "../../src/store/store.ts";
import type { Kinds } from "./kinds.ts";
import { LADDER } from "./ladder.ts";

export interface Plant {
  readonly ladder?: readonly number[];
  /** The disk says that it synced, and did not: what no daemon survives. */
  readonly lies?: boolean;
  /** Commits that are undone say that they took effect. */
  readonly forgets?: boolean;
  /** The dispatcher goes on in the belief that an endpoint is enabled, or disabled, as it was. */
  readonly unheard?: "disable" | "enable";
  /** What the dispatcher gets to hear instead of a verb's real answer. */
  readonly answers?: Readonly<Record<string, (answer: never, now: number) => unknown>>;
  /** Verbs that say they did it, and did nothing. */
  readonly undone?: Readonly<Record<string, unknown>>;
  /** Changes the code under test; the answer undoes it. */
  readonly patch?: () => () => void;
  /** What the bug needs to show. A crash would read everything again and hide it. */
  readonly kinds?: Partial<Kinds>;
  /** Milliseconds of trouble, where the bug shows so seldom that a seed's usual time would be too short. */
  readonly lasts?: number;
}

const NO_CRASH = { crash: false, crashAtAwait: false, commits: false, deadly: false };

const plants = {
  none: {},
  "ack-before-commit": { forgets: true },
  "fsync-that-lies": { lies: true, kinds: { crash: true } },
  "early-retry": { ladder: LADDER.map((delay) => delay - 100) },
  /** A replay is due now, which lies behind the horizon. */
  "replay-unheard": {
    answers: {
      "events.replay": (answer: Replay) => (answer.result === "replayed" ? { ...answer, waiting: [] } : answer),
    },
    kinds: { ...NO_CRASH, operators: true },
  },
  /** What could not be recorded for a while waits for an instant that has passed when it is. */
  "late-result-unheard": {
    answers: {
      "deliveries.record": (answers: readonly Recorded[], now: number) =>
        answers.map((one) => (one.waiting !== null && one.waiting.dueAt <= now ? { ...one, waiting: null } : one)),
    },
    kinds: { ...NO_CRASH, commits: true },
    lasts: 240_000,
  },
  /** The clock is set back, and due times move down with it. */
  "clock-step-unheard": {
    answers: { "recovery.shiftDue": (answer: Shifted) => ({ ...answer, moved: [] }) },
    kinds: { ...NO_CRASH, clock: true },
  },
  /** Memory gives deliveries back, and does not remember that they are to be read again. */
  "forgotten-unheard": {
    answers: { "deliveries.park": () => [] },
    kinds: { ...NO_CRASH, receivers: true, bursts: true },
  },
  /** Memory gives fresh deliveries back, and only a restart would read them. */
  "forgotten-fresh-unwritten": {
    undone: { "deliveries.park": [] },
    kinds: { ...NO_CRASH, receivers: true, bursts: true },
  },
  /** Nothing may start once a disable was answered. */
  "disable-unheard": { unheard: "disable", kinds: { ...NO_CRASH, holds: true } },
  /** What a disabled endpoint was owed is due once it is enabled. */
  "enable-unheard": {
    unheard: "enable",
    kinds: { ...NO_CRASH, holds: true, rotations: false },
  },
  /** Only reads move the horizon: what is committed behind it is never seen. */
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
  /** The next secret takes over, and those who sign do not hear of it. */
  "switch-unheard": {
    answers: { "secrets.switchDue": () => [] },
    kinds: { ...NO_CRASH, clock: false, disk: false, rotations: true },
  },
  /** A manual attempt failed, and its delivery waits behind the horizon where nobody reads it. */
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
  /** A result is entered twice: it was one attempt. */
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
  /** An event was cancelled, and memory does not hear of it. */
  "cancel-unheard": {
    patch: () => {
      const { withdraw } = Dispatcher.prototype;
      Dispatcher.prototype.withdraw = async () => {};
      return () => void (Dispatcher.prototype.withdraw = withdraw);
    },
    kinds: { ...NO_CRASH, receivers: true, bursts: true, hands: true },
  },
  /** An endpoint was deleted, and whoever sends does not hear of it. */
  "deletion-unheard": {
    patch: () => {
      const { drop } = Dispatcher.prototype;
      Dispatcher.prototype.drop = async () => {};
      return () => void (Dispatcher.prototype.drop = drop);
    },
    kinds: { ...NO_CRASH, receivers: true, bursts: true, deletions: true },
  },
  /** A job hands deliveries over, and nobody takes them. */
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
  /** What is over is taken for old, and what is not over for over. */
  "pruned-unsent": {
    patch: () => {
      const { prune } = Prune.prototype;
      Prune.prototype.prune = function (this: Prune, { delivered }, from) {
        return prune.call(this, { delivered, failed: delivered }, from);
      };
      return () => void (Prune.prototype.prune = prune);
    },
    kinds: { ...NO_CRASH, clock: false, prunes: true },
  },
  /** Whatever a name leads to is dialled. */
  "guard-asleep": {
    patch: () => {
      const { check } = AddressPolicy.prototype;
      AddressPolicy.prototype.check = () => null;
      return () => void (AddressPolicy.prototype.check = check);
    },
    kinds: { ...NO_CRASH, addresses: true },
  },
  /** The rules of the way out are changed, and whoever sends keeps to the old ones. */
  "rules-unheard": {
    patch: () => {
      const { setEgress } = Dispatcher.prototype;
      Dispatcher.prototype.setEgress = () => {};
      return () => void (Dispatcher.prototype.setEgress = setEgress);
    },
    kinds: { ...NO_CRASH, addresses: true },
  },
  /** What is given back is never taken. */
  "full-for-good": {
    patch: () => {
      const { takeBack } = Executor.prototype;
      Executor.prototype.takeBack = async () => [];
      return () => void (Executor.prototype.takeBack = takeBack);
    },
    kinds: { ...NO_CRASH, disk: false, outages: false, receivers: true, bursts: true },
  },
  /** Memory lets go of deliveries, and counts them on. */
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
  /** A restored store sends what was delivered since its backup, before anybody has said so. */
  "restore-unpaused": {
    answers: { "operations.getPause": () => null },
    kinds: { ...NO_CRASH, crash: true, restores: true, pauses: false, receivers: true },
  },
} satisfies Record<string, Plant>;

export type PlantName = keyof typeof plants;
export const PLANTS: Readonly<Record<PlantName, Plant>> = plants;
