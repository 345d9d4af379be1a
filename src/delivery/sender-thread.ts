/** A sender on a thread of its own: its event loop never waits for a commit. */
import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { openSender } from "./open-sender.ts";
import {
  unpackJobs,
  type FromSender,
  type SenderThreadData,
  type SlottedJob,
  type ToSender,
} from "./sender-messages.ts";
import type { Ended } from "./sending.ts";

serve(parentPort!, workerData as SenderThreadData);

function serve(port: MessagePort, { settings, onWire }: SenderThreadData): void {
  const wire = new Uint8Array(onWire);
  let batch: Ended[] = [];

  const report = () => {
    const caps = [...new Set(batch.map(({ endpoint }) => endpoint))].map(
      (endpoint) => [endpoint, sender.cap(endpoint)] as const,
    );
    post({ kind: "ended", batch, caps });
    batch = [];
  };
  const sender = openSender(settings, {
    clock: systemClock,
    onStart: (job) => {
      wire[(job as SlottedJob).slot] = 1;
    },
    onEnded: (ended) => {
      // What ends in one turn of the event loop goes in one message.
      if (batch.length === 0) setImmediate(report);
      for (const end of ended) batch.push(compact(end));
    },
  });
  const post = (message: FromSender) => port.postMessage(message);
  const answer = (call: number, result: Promise<unknown>) =>
    void result.then((value) => post({ kind: "answer", call, result: value }));

  port.on("message", (message: ToSender) => {
    switch (message.kind) {
      case "jobs":
        return sender.send(unpackJobs(message));
      case "target":
        return answer(message.call, sender.setTarget(message.target));
      case "forget":
        return answer(message.call, sender.forget(message.endpoint));
      case "pause":
        return sender.pause();
      case "resume":
        return sender.resume();
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

/** A small body may be a window into a large buffer, and all of that would be copied with it. */
function compact(ended: Ended): Ended {
  const { responseBody } = ended.outcome;
  if (responseBody.byteLength === responseBody.buffer.byteLength) return ended;
  return { ...ended, outcome: { ...ended.outcome, responseBody: new Uint8Array(responseBody) } };
}
