/** Both ends of the message port between the main thread and a sender's thread. */
import type { MessagePort, Worker } from "node:worker_threads";
import type { Clock } from "../../clock.ts";
import type { Ended } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { SenderSettings } from "../send/open-sender.ts";
import type { Sender, SenderParts } from "../send/sender.ts";
import {
  packEnds,
  packSends,
  unpackEnds,
  unpackSends,
  type FromSender,
  type SenderThreadData,
  type SlottedEnd,
  type SlottedSend,
  type ToSender,
} from "./messages.ts";
import { unawaited } from "../../domain/unawaited.ts";

/** Memory never holds this many sends for one thread. A send beyond these slots counts as on the wire. */
const SLOTS = 65_536;

export type StartThread = (data: SenderThreadData) => Pick<Worker, "postMessage" | "on" | "terminate">;

export interface ThreadPortParts {
  readonly start: StartThread;
  readonly settings: SenderSettings;
  readonly clock: Pick<Clock, "after" | "nextTurn">;
  readonly onEnded: (batch: readonly Ended[], caps: readonly (readonly [string, number])[]) => void;
  readonly onError: (error: unknown) => void;
  /**
   * Called when the thread has ended. `outstanding` are its sends that did not end. `began` is false if the thread
   * could not start, so that no delivery killed it.
   */
  readonly onDeath: (outstanding: readonly Outstanding[], began: boolean) => void;
}

/** A host that is short of a resource cannot start a thread. Wait this long before the next try. */
const BEGIN_AGAIN_MS = 1000;

export interface Outstanding {
  readonly send: Send;
  readonly onWire: boolean;
  /** True if its endpoint's deliveries were taken back since, so that it is not retried after a death. */
  readonly takenBack: boolean;
}

type Ask =
  | { kind: "target"; target: Extract<ToSender, { kind: "target" }>["target"]; low?: boolean }
  | { kind: "forget"; endpoint: string; isGone?: boolean }
  | { kind: "pause" }
  | { kind: "drain" };

/**
 * A sender's thread as seen from the main thread. Tracks which sends have not ended, and which of them were on the wire
 * when the thread died.
 */
export class ThreadPort {
  readonly #parts: ThreadPortParts;
  readonly #thread: ReturnType<StartThread>;
  readonly #onWire = new Uint8Array(new SharedArrayBuffer(SLOTS));
  /** The sends, by slot, that were given to the thread and have not ended. */
  readonly #sends: (Send | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  /** Slots of sends that were here when their endpoint's deliveries were taken back. */
  readonly #takenBack = new Set<number>();
  /** Sends of this turn with their slots, to be handed over in one message. */
  #gathered: Send[] = [];
  #gatheredSlots: number[] = [];
  readonly #calls = new Map<number, (result: unknown) => void>();
  #lastCall = 0;
  #closing = false;
  #began = false;
  readonly #exited = Promise.withResolvers<void>();

  constructor(parts: ThreadPortParts) {
    this.#parts = parts;
    this.#thread = parts.start({ settings: parts.settings, onWire: this.#onWire.buffer });
    this.#thread.on("message", (message: FromSender) => this.#receive(message));
    // An `exit` event always follows.
    this.#thread.on("error", parts.onError);
    this.#thread.on("exit", () => this.#exit());
  }

  get outstanding(): number {
    return this.#sends.length - this.#freeSlots.length;
  }

  /** Looks at every slot, so do not call it often. */
  get inFlight(): number {
    return this.#sends.reduce((sum, send, slot) => sum + (send !== undefined && this.#isOnWire(slot) ? 1 : 0), 0);
  }

  send(sends: readonly Send[]): void {
    if (this.#gathered.length === 0) this.#parts.clock.nextTurn(() => this.#flush());
    for (const send of sends) {
      const slot = this.#freeSlots.pop() ?? this.#sends.length;
      this.#sends[slot] = send;
      this.#onWire[slot] = 0;
      this.#gathered.push(send);
      this.#gatheredSlots.push(slot);
    }
  }

  tell(message: Exclude<ToSender, { kind: "sends" } | { call: number }>): void {
    this.#flush();
    this.#thread.postMessage(message satisfies ToSender);
  }

  ask(question: Ask): Promise<unknown> {
    this.#flush();
    const call = ++this.#lastCall;
    return new Promise((resolve) => {
      this.#calls.set(call, resolve);
      this.#thread.postMessage({ ...question, call } satisfies ToSender);
    });
  }

  async forget(endpoint: string, isGone = false): Promise<readonly string[]> {
    this.#sends.forEach((send, slot) => send?.endpoint === endpoint && this.#takenBack.add(slot));
    return (await this.takeBack(endpoint, isGone)).map(({ delivery }) => delivery);
  }

  /** Takes back the endpoint's waiting sends, in order. */
  async takeBack(endpoint: string, isGone = false): Promise<readonly Send[]> {
    const given = ((await this.ask({ kind: "forget", endpoint, isGone })) ?? []) as readonly string[];
    if (given.length === 0) return [];
    const slots = new Map<string, number>();
    this.#sends.forEach((send, slot) => send !== undefined && slots.set(send.delivery, slot));
    return given.map((delivery) => this.#settle(slots.get(delivery)!)!);
  }

  close(): Promise<void> {
    this.#closing = true;
    this.#thread.postMessage({ kind: "close" } satisfies ToSender);
    return this.#exited.promise;
  }

  #flush(): void {
    if (this.#gathered.length === 0) return;
    const sends = packSends(this.#gathered, this.#gatheredSlots);
    this.#gathered = [];
    this.#gatheredSlots = [];
    this.#thread.postMessage({ kind: "sends", sends } satisfies ToSender, [sends.rows.buffer, sends.bodies.buffer]);
  }

  #receive(message: FromSender): void {
    this.#began = true;
    if (message.kind === "answer") {
      this.#calls.get(message.call)?.(message.result);
      this.#calls.delete(message.call);
    } else {
      const { ends, caps } = message;
      const batch = unpackEnds(ends, (slot) => this.#settle(slot));
      for (const { slot } of ends.unusual) this.#settle(slot);
      this.#parts.onEnded(batch, caps);
    }
  }

  #settle(slot: number): Send | undefined {
    const send = this.#sends[slot];
    if (send === undefined) return undefined;
    this.#sends[slot] = undefined;
    this.#freeSlots.push(slot);
    if (this.#takenBack.size > 0) this.#takenBack.delete(slot);
    return send;
  }

  #isOnWire(slot: number): boolean {
    return slot >= SLOTS || this.#onWire[slot] === 1;
  }

  #exit(): void {
    this.#exited.resolve();
    const began = this.#began || this.inFlight > 0;
    if (began || this.#closing) this.#die(began);
    else this.#parts.clock.after(BEGIN_AGAIN_MS, () => this.#die(began));
  }

  #die(began: boolean): void {
    // No answer will come any more, so let no caller wait for one.
    for (const resolve of this.#calls.values()) resolve(undefined);
    this.#calls.clear();
    if (this.#closing) return;
    this.#parts.onDeath(
      this.#sends.flatMap((send, slot) => {
        if (send === undefined) return [];
        return [{ send, onWire: this.#isOnWire(slot), takenBack: this.#takenBack.has(slot) }];
      }),
      began,
    );
  }
}

export interface ServedSenderParts {
  readonly port: Pick<MessagePort, "postMessage" | "on" | "close">;
  readonly onWire: SenderThreadData["onWire"];
  readonly clock: Clock;
  readonly open: (hooks: Required<Pick<SenderParts, "onStart" | "onEnded">>) => Sender;
}

/** Runs a sender at the thread's end of the port, driven by the messages that arrive there. */
export function serveSender({ port, onWire, clock, open }: ServedSenderParts): void {
  const wire = new Uint8Array(onWire);
  let ends: SlottedEnd[] = [];

  const report = () => {
    const endpoints = new Set(ends.map(({ ended }) => ended.endpoint));
    const caps = [...endpoints].map((endpoint) => [endpoint, sender.cap(endpoint)] as const);
    const packed = packEnds(ends);
    ends = [];
    port.postMessage({ kind: "ended", ends: packed, caps } satisfies FromSender, [
      packed.rows.buffer,
      packed.bodies.buffer,
    ]);
  };
  const sender = open({
    onStart: (send) => {
      wire[(send as SlottedSend).slot] = 1;
    },
    onEnded: (ended, send) => {
      // Attempts that end in the same turn of the event loop share a message.
      if (ends.length === 0) clock.nextTurn(report);
      ends.push({ slot: (send as SlottedSend).slot, trigger: send.trigger, ended });
    },
  });
  const post = (message: FromSender) => port.postMessage(message);
  const answer = (call: number, result: Promise<unknown>) =>
    unawaited(result.then((value) => post({ kind: "answer", call, result: value })));

  port.on("message", (message: ToSender) => {
    switch (message.kind) {
      case "sends":
        return sender.send(unpackSends(message.sends));
      case "target":
        return answer(message.call, sender.setTarget(message.target, message.low));
      case "limit":
        return sender.setMaxInFlight(message.maxInFlight);
      case "egress":
        return sender.setEgress(message.rules);
      case "forget":
        return answer(message.call, sender.forget(message.endpoint, message.isGone));
      case "pause":
        return answer(message.call, sender.pause());
      case "resume":
        return sender.resume();
      case "probe":
        return sender.probe();
      case "abort":
        return sender.abort();
      case "drain":
        // Answer only after the ends of all attempts in flight have been reported.
        return answer(
          message.call,
          sender.drain().then(() => new Promise<void>((resolve) => clock.nextTurn(resolve))),
        );
      case "close":
        // The thread ends with its port, and its exit is the answer.
        return unawaited(sender.close().then(() => port.close()));
    }
  });
}
