/** A sender on a thread of its own: its event loop never waits for a commit. */
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { openSender } from "./open-sender.ts";
import {
  packEnds,
  unpackJobs,
  type FromSender,
  type SenderThreadData,
  type SlottedEnd,
  type SlottedJob,
  type ToSender,
} from "./sender-messages.ts";

serve(parentPort!, workerData as SenderThreadData);

function serve(port: MessagePort, { settings, onWire }: SenderThreadData): void {
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
  const sender = openSender(settings, {
    clock: systemClock,
    onStart: (job) => {
      wire[(job as SlottedJob).slot] = 1;
    },
    onEnded: (ended, job) => {
      // What ends in one turn of the event loop goes in one message.
      if (ends.length === 0) setImmediate(report);
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
          sender.drain().then(() => new Promise<void>((resolve) => setImmediate(resolve))),
        );
      case "close":
        // The thread ends with its port: its exit is the answer.
        return void sender.close().then(() => port.close());
    }
  });
}
