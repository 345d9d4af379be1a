/** All that a command touches of the process and the machine, so that a test can stand in for both. */
import type { ConfigFlags, ConfigInputs } from "../src/config/inputs.ts";

export interface Output {
  /** What `mayBeLost`, such as a log, is no failure of the command if it cannot be written. */
  write(text: string, options?: { readonly mayBeLost?: boolean }): void;
  readonly isTTY: boolean;
  /** How wide the terminal is; undefined where there is none. */
  readonly columns: number | undefined;
  /** Calls `run` once a write has shown that the reader is gone. */
  onClosed(run: () => void): void;
}

export interface Input {
  readonly isTTY: boolean;
  /** All of it, to its end. */
  read(): Promise<Buffer>;
  /** One line from the person at the terminal, null at its end; `hidden` does not show what is typed. */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string | null>;
}

export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  configInputs(flags: ConfigFlags): ConfigInputs;
  /** Whether the bytes of the command line are UTF-8; false where the system does not tell. */
  typedUtf8(): boolean;
  /** The descriptor of a socket that the service manager opened for this process; null without one, or the next time. */
  inheritedSocket(): number | null;
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds from an arbitrary start. */
  monotonic(): number;
  sleep(ms: number): Promise<void>;
  /**
   * Calls `run` at every SIGINT and SIGTERM, which then do nothing else, and with SIGTERM when the terminal is gone; the
   * returned function ends that.
   */
  onSignal(run: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /** From now on every SIGHUP but the one of a terminal that is gone calls `run`, and does nothing else. */
  onHangup(run: () => void): void;
  /** Ends the process without waiting for anything. */
  exit(code: number): void;
}
