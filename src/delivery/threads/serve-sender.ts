/** A sender at the other end of a port: what a sender's thread does with the messages it gets. */
import type { MessagePort } from "node:worker_threads";
import type { Clock } from "../../clock.ts";
import {
  packEnds,
  unpackJobs,
  type FromSender,
  type SenderThreadData,
  type SlottedEnd,
  type SlottedJob,
  type ToSender,
} from "./messages.ts";
import type { Sender, SenderParts } from "../send/sender.ts";

export interface ServedSenderParts {
  readonly port: Pick<MessagePort, "postMessage" | "on" | "close">;
  readonly onWire: SenderThreadData["onWire"];
  readonly clock: Clock;
  readonly open: (hooks: Required<Pick<SenderParts, "onStart" | "onEnded">>) => Sender;
}

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
    onStart: (job) => {
      wire[(job as SlottedJob).slot] = 1;
    },
    onEnded: (ended, job) => {
      // What ends in one turn of the event loop goes in one message.
      if (ends.length === 0) clock.nextTurn(report);
      ends.push({ slot: (job as SlottedJob).slot, trigger: job.trigger, ended });
    },
  });
  const post = (message: FromSender) => port.postMessage(message);
  const answer = (call: number, result: Promise<unknown>) =>
    void result.then((value) => post({ kind: "answer", call, result: value }));

  port.on("message", (message: ToSender) => {
    switch (message.kind) {
      case "jobs":
        return sender.send(unpackJobs(message.jobs));
      case "target":
        return answer(message.call, sender.setTarget(message.target));
      case "egress":
        return sender.setEgress(message.rules);
      case "forget":
        return answer(message.call, sender.forget(message.endpoint));
      case "pause":
        return answer(message.call, sender.pause());
      case "resume":
        return sender.resume();
      case "probe":
        return sender.probe();
      case "abort":
        return sender.abort();
      case "drain":
        // The ends of what was in flight are reported before it.
        return answer(
          message.call,
          sender.drain().then(() => new Promise<void>((resolve) => clock.nextTurn(resolve))),
        );
      case "close":
        // The thread ends with its port: its exit is the answer.
        return void sender.close().then(() => port.close());
    }
  });
}
