/** Shows progress on stderr: a line that is redrawn on a terminal, or elsewhere a new line now and then. */
import cliTruncate from "cli-truncate";
import { printable } from "../../src/domain/printable.ts";
import type { Io } from "../io.ts";

/** Often enough for a log. */
const EVERY_MS = 10_000;

export class Progress {
  readonly #io: Io;
  readonly #draws: boolean;
  #drawn = "";
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(io: Io) {
    this.#io = io;
    this.#draws = io.stderr.isTTY && io.env.TERM !== "dumb";
  }

  show(line: string): void {
    const { stderr, monotonic } = this.#io;
    if (line === this.#drawn) return;
    if (this.#draws) {
      stderr.write(`\r\x1b[K${cliTruncate(printable(line), (stderr.columns ?? 80) - 1)}`);
      this.#drawn = line;
    } else if (monotonic() >= this.#saidAt + EVERY_MS) {
      stderr.write(`${printable(line)}\n`);
      this.#drawn = line;
      this.#saidAt = monotonic();
    }
  }

  /** Prints a line that stays above the progress line. */
  say(line: string): void {
    this.end();
    this.#io.stderr.write(`${printable(line)}\n`);
  }

  end(): void {
    if (this.#draws && this.#drawn !== "") this.#io.stderr.write("\r\x1b[K");
    this.#drawn = "";
  }
}
