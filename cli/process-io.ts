/** The process and the machine as they are. */
import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { processInputs } from "../src/config/inputs.ts";
import { takeInheritedSocket } from "./daemon/inherited-socket.ts";
import type { Input, Io, Output } from "./io.ts";

interface ProcessIo extends Io {
  /** Why something that the command had to say could not be written; null while all of it could. */
  unwritten(): Error | null;
}

export function processIo(): ProcessIo {
  let unwritten: Error | null = null;
  const onUnwritten = (error: Error) => void (unwritten ??= error);
  const hadTerminal = isatty(0);
  let takesHangups = false;
  /** A SIGHUP may say so; without a terminal there is no way left to stop what runs. */
  const terminalIsGone = () => hadTerminal && !opens("/dev/tty");
  return {
    stdin: processInput(),
    stdout: outputOf(process.stdout, onUnwritten),
    // Nobody could be told.
    stderr: outputOf(process.stderr, () => {}),
    unwritten: () => unwritten,
    env: process.env,
    configInputs: processInputs,
    typedUtf8,
    inheritedSocket: () => takeInheritedSocket(process.env, process.pid),
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onSignal(run) {
      const onHangup = () => {
        if (!takesHangups || terminalIsGone()) run("SIGTERM");
      };
      process.on("SIGINT", run).on("SIGTERM", run).on("SIGHUP", onHangup);
      return () => void process.off("SIGINT", run).off("SIGTERM", run).off("SIGHUP", onHangup);
    },
    onHangup(run) {
      takesHangups = true;
      process.on("SIGHUP", () => {
        if (!terminalIsGone()) run();
      });
    },
    exit: (code) => process.exit(code),
  };
}

function typedUtf8(): boolean {
  try {
    return isUtf8(readFileSync("/proc/self/cmdline"));
  } catch {
    return false;
  }
}

function opens(path: string): boolean {
  try {
    closeSync(openSync(path, "r"));
    return true;
  } catch {
    return false;
  }
}

/**
 * A reader that went away (`| head`) ends nothing by itself: the daemon serves on, a command finishes what it began,
 * and what has no end of its own asks for `onClosed`.
 */
function outputOf(stream: NodeJS.WriteStream, onUnwritten: (error: Error) => void): Output {
  stream.on("error", () => {});
  const onWritten = (error?: NodeJS.ErrnoException | null) => {
    if (error && error.code !== "EPIPE") onUnwritten(error);
  };
  return {
    write: (text, { mayBeLost = false } = {}) => void (mayBeLost ? stream.write(text) : stream.write(text, onWritten)),
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    onClosed: (run) => void stream.once("error", run),
  };
}

/** Nothing of it is touched before it is asked for: reading would keep a command from ending. */
function processInput(): Input {
  return {
    get isTTY() {
      return process.stdin.isTTY === true;
    },
    async read() {
      const chunks: Buffer[] = [];
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    async ask(question, { hidden = false } = {}) {
      const { createInterface } = await import("node:readline");
      process.stderr.write(question);
      // What is typed is echoed by the line editor alone, and to nowhere when it is hidden.
      const output = hidden ? undefined : process.stderr;
      const lines = createInterface({ input: process.stdin, ...(output && { output }), terminal: true });
      // The line editor redraws its line from the start.
      if (!hidden) lines.setPrompt(question);
      return new Promise((resolve) => {
        lines.once("SIGINT", () => {
          lines.close();
          process.kill(process.pid, "SIGINT");
        });
        lines.once("line", (line) => {
          resolve(line);
          lines.close();
        });
        lines.once("close", () => {
          if (hidden) process.stderr.write("\n");
          resolve(null);
        });
      });
    },
  };
}
