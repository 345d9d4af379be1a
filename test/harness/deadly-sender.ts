/**
 * Runs a sender thread with a bug: a certain body kills it, after that request and its neighbours were written to the
 * wire.
 */
import { parentPort } from "node:worker_threads";
import type { ToSender } from "../../src/delivery/threads/messages.ts";

await import("../../src/delivery/threads/sender-thread.ts");

parentPort!.on("message", (message: ToSender) => {
  if (message.kind === "sends" && Buffer.from(message.sends.bodies).includes("kill the sender"))
    setImmediate(() => process.exit(1));
});
