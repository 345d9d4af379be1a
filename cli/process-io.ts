/** Gives commands the real process and machine. */
import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { processInputs } from "../src/config/inputs.ts";
import { takeInheritedSocket } from "./daemon/inherited-socket.ts";
import type { Input, Io, Output } from "./io.ts";

interface ProcessIo extends Io {
  /** Returns the error that kept some of the command's output from being written, or null if all of it was written. */
  unwritten(): Error | null;
}

export function processIo(): ProcessIo {
  let unwritten: Error | null = null;
  const onUnwritten = (error: Error) => void (unwritten ??= error);
  const hadTerminal = isatty(0);
  let takesHangups = false;
  /** A SIGHUP may mean that the terminal is gone. Without it nobody could stop the process any more. */
  const terminalIsGone = () => hadTerminal && !opens("/dev/tty");
  return {
    stdin: processInput(),
    stdout: outputOf(process.stdout, onUnwritten),
    // An error on stderr cannot be reported to anyone.
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
 * A reader that closes the pipe (`| head`) does not end the process: the daemon keeps serving, a command finishes its
 * work, and an endless command uses `onClosed`.
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

/** Leaves stdin alone until it is needed, because reading would keep the process alive. */
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
      // Only the line editor echoes what is typed, so for a hidden answer it gets no output.
      const output = hidden ? undefined : process.stderr;
      const lines = createInterface({ input: process.stdin, ...(output && { output }), terminal: true });
      // The line editor redraws its line from the start, so it needs the question.
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
