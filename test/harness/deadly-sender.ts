/** The sender's thread with a bug: a body that says so kills it, after it and its neighbours went on the wire. */
import { parentPort } from "node:worker_threads";
import type { ToSender } from "../../src/delivery/threads/messages.ts";

await import("../../src/delivery/threads/sender-thread.ts");

parentPort!.on("message", (message: ToSender) => {
  if (message.kind === "jobs" && Buffer.from(message.jobs.bodies).includes("kill the sender"))
    setImmediate(() => process.exit(1));
});
