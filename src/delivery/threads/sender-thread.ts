/** A sender on a thread of its own: its event loop never waits for a commit. */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../clock.ts";
import { openSender } from "../send/open-sender.ts";
import type { SenderThreadData } from "./messages.ts";
import { serveSender } from "./thread-port.ts";

const { settings, onWire } = workerData as SenderThreadData;

serveSender({
  port: parentPort!,
  onWire,
  clock: systemClock,
  open: (hooks) => openSender(settings, systemClock, hooks),
});
