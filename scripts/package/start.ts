#!/usr/bin/env node
/**
 * The start script of a bundle. It prints the version without loading the program, which takes as long as starting
 * Node.
 */
import { runProgram } from "../../src/bundle.ts";
import { version } from "../../src/build.ts";

const [word, ...rest] = process.argv.slice(2);
if (rest.length === 0 && (word === "--version" || word === "-v")) {
  // A reader that closes the pipe is not an error, as in cli/process-io.ts.
  process.stdout.on("error", () => {}).write(`webhookd ${version}\n`);
} else runProgram();
