/** The other end of a sender's port, where each send ends as soon as it arrives. */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../src/clock.ts";
import type { Sender } from "../../src/delivery/send/sender.ts";
import type { SenderThreadData } from "../../src/delivery/threads/messages.ts";
import { serveSender } from "../../src/delivery/threads/thread-port.ts";
import { plainSuccess } from "../../src/domain/deliveries/attempt.ts";
import type { Send } from "../../src/domain/deliveries/delivery.ts";

const URL = "http://127.0.0.1/";
/** Responses arrive over many connections, several of them in one turn of the event loop. */
const IN_A_TURN = 16;

serveSender({
  port: parentPort!,
  onWire: (workerData as SenderThreadData).onWire,
  clock: systemClock,
  open({ onStart, onEnded }) {
    const sends: Send[] = [];
    const end = () => {
      for (const send of sends.splice(0, IN_A_TURN)) {
        const { delivery, endpoint } = send;
        const outcome = plainSuccess(200, 2, { remoteAddress: "127.0.0.1" });
        onEnded({ delivery, endpoint, url: URL, startedAt: 1_780_000_000_000, secretVersion: 1, outcome }, send);
      }
      if (sends.length > 0) setImmediate(end);
    };
    const sender: Pick<Sender, "send" | "cap" | "close"> = {
      cap: () => 64,
      send(more: readonly Send[]) {
        for (const send of more) onStart(send);
        if (sends.push(...more) === more.length) end();
      },
      close: async () => {},
    };
    return sender as Sender;
  },
});
