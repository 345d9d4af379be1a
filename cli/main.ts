#!/usr/bin/env node
import { report } from "./failure.ts";
import { front, type Runs } from "./front.ts";
import { processIo } from "./io.ts";

/** Loaded when they run: `version` must not wait for the daemon's modules. */
const RUNS: Runs = {
  serve: () => import("./serve.ts"),
  replay: () => import("./replay.ts"),
  status: () => import("./status.ts"),
  pause: () => import("./pause.ts"),
  resume: () => import("./resume.ts"),
  backup: () => import("./backup.ts"),
  "keys create": () => import("./keys-create.ts"),
  "keys list": () => import("./keys-list.ts"),
  "keys revoke": () => import("./keys-revoke.ts"),
  version: () => import("./version.ts"),
};

const io = processIo();
// Node would end with 1, which says that something was refused.
process.on("uncaughtException", (error) => process.exit(report(error, io, false)));
const code = await front(process.argv.slice(2), io, RUNS);
// Not before both streams are empty: a pipe may still hold what was written.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
