/** Everything that a command uses of the process and the machine, so that a test can replace it. */
import type { ConfigFlags, ConfigInputs } from "../src/config/inputs.ts";

export interface Output {
  /** Output that `mayBeLost`, such as a log, does not fail the command if it cannot be written. */
  write(text: string, options?: { readonly mayBeLost?: boolean }): void;
  readonly isTTY: boolean;
  /** The width of the terminal, or undefined without one. */
  readonly columns: number | undefined;
  /** Calls `run` once a write has shown that the reader is gone. */
  onClosed(run: () => void): void;
}

export interface Input {
  readonly isTTY: boolean;
  /** Reads all of the input. */
  read(): Promise<Buffer>;
  /**
   * Reads one line from the person at the terminal, or null at the end of input. `hidden` does not echo what is typed.
   */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string | null>;
}

export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  configInputs(flags: ConfigFlags): ConfigInputs;
  /** True if the bytes of the command line are UTF-8. False if the system cannot tell. */
  typedUtf8(): boolean;
  /**
   * Returns the descriptor of a socket that the service manager opened for this process. Null if there is none, and on
   * a second call.
   */
  inheritedSocket(): number | null;
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds from an arbitrary start. */
  monotonic(): number;
  sleep(ms: number): Promise<void>;
  /**
   * Calls `run` at every SIGINT and SIGTERM instead of the default action, and with SIGTERM when the terminal is gone.
   * The returned function removes the listener.
   */
  onSignal(run: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /**
   * Calls `run` at every later SIGHUP instead of the default action, unless the signal means that the terminal is gone.
   */
  onHangup(run: () => void): void;
  /** Ends the process without waiting for anything. */
  exit(code: number): void;
}
