#!/usr/bin/env node
/** What a bundle is started with. The version is said without the program, which takes as long to load as Node to start. */
import { runProgram } from "../../src/bundle.ts";
import { version } from "../../src/build.ts";

const [word, ...rest] = process.argv.slice(2);
if (rest.length === 0 && (word === "--version" || word === "-v")) {
  // A reader that went away is no error, as in cli/process-io.ts.
  process.stdout.on("error", () => {}).write(`webhookd ${version}\n`);
} else runProgram();
