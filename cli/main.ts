#!/usr/bin/env node
import { Failure, report } from "./failure.ts";
import { webhookd } from "./front/dispatch.ts";
import { processIo } from "./process-io.ts";
import { packed } from "../src/build.ts";

// Node would open its debugger. If this file is started by hand, the option that prevents it is missing.
if (process.platform !== "win32") process.on("SIGUSR1", () => {});
// The executable ignores NODE_OPTIONS, but a worker thread would read it from the environment that it inherits.
if (packed) delete process.env.NODE_OPTIONS;

const io = processIo();
// Node would exit with 1, which means that the daemon refused something.
process.on("uncaughtException", (error) => process.exit(report(error, io, false)));
const code = await webhookd(process.argv.slice(2), io);
// Exit only when both streams are empty: a pipe may still hold output.
process.stdout.write("", () => {
  const error = io.unwritten();
  const end = error === null ? code : report(unwrittenOutput(error), io, false);
  process.stderr.write("", () => process.exit(end));
});

function unwrittenOutput({ message }: Error): Failure {
  return new Failure(
    "storage_failed",
    `the output could not be written: ${message}`,
    "What was asked was done as far as it went, but not shown: make room for the output and look again. Revoke a key that was not shown, and create another.",
  );
}
