/** All that a command touches of the process and the machine, so that a test can stand in for both. */
import { processInputs, type ConfigFlags, type ConfigInputs } from "../src/config/inputs.ts";

export interface Output {
  write(text: string): void;
  readonly isTTY: boolean;
}

export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  configInputs(flags: ConfigFlags): ConfigInputs;
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds from an arbitrary start. */
  monotonic(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `run` at every SIGINT and SIGTERM, which then do nothing else; the returned function ends that. */
  onSignal(run: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /** From now on every SIGHUP calls `run`, and does nothing else. */
  onHangup(run: () => void): void;
  /** Ends the process without waiting for anything. */
  exit(code: number): void;
}

export function processIo(): Io {
  return {
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    env: process.env,
    configInputs: processInputs,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onSignal(run) {
      process.on("SIGINT", run);
      process.on("SIGTERM", run);
      return () => void process.off("SIGINT", run).off("SIGTERM", run);
    },
    onHangup: (run) => void process.on("SIGHUP", run),
    exit: (code) => process.exit(code),
  };
}

/** A reader that went away (`| head`) ends nothing: the daemon serves on, a command finishes what it began. */
function outputOf(stream: NodeJS.WriteStream): Output {
  stream.on("error", () => {});
  return { write: (text) => void stream.write(text), isTTY: stream.isTTY === true };
}
