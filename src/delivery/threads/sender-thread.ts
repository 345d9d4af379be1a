/** Runs a sender on its own thread, so that its event loop never waits for a commit. */
import { parentPort, workerData } from "node:worker_threads";
import { DatabaseClock, systemClock } from "../../clock.ts";
import { openSender } from "../send/open-sender.ts";
import type { SenderThreadData } from "./messages.ts";
import { serveSender } from "./thread-port.ts";

const { settings, onWire } = workerData as SenderThreadData;
const { clockDistance } = settings;
const clock = clockDistance === undefined ? systemClock : new DatabaseClock(systemClock, clockDistance);

serveSender({
  port: parentPort!,
  onWire,
  clock,
  open: (hooks) => openSender(settings, clock, hooks),
});
