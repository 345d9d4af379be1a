/**
 * A client that stays connected to a tmux server and runs one command after the other. Otherwise each would cost a
 * process of its own. See tmux(1) under "CONTROL MODE".
 */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";

interface Asked {
  readonly line: string;
  readonly resolve: (printed: string) => void;
  readonly reject: (error: Error) => void;
}

export class TmuxControl {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  /** Commands in the order in which they are answered. */
  readonly #asked: Asked[] = [];
  /** The response that is being read. */
  #block: { readonly id: string; readonly isOurs: boolean; readonly lines: string[] } | null = null;
  #isOver = false;

  /**
   * `server` holds the options that select the server, such as `-S`. The client neither sizes the window nor reads its
   * output.
   */
  constructor(server: readonly string[], env: NodeJS.ProcessEnv) {
    const words = [...server, "-C", "attach", "-f", "ignore-size,no-output"];
    this.#child = spawn("tmux", words, { env, stdio: ["pipe", "pipe", "ignore"] });
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", () => {});
    let rest = "";
    // node:readline is not used, because it ends lines at U+2028 too.
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#read(line);
    });
    this.#child.once("close", () => this.#end());
  }

  /** Returns the command's output, or rejects with tmux's error. No word may contain a line feed. */
  ask(...words: string[]): Promise<string> {
    const line = words.map(quoted).join(" ");
    return new Promise((resolve, reject) => {
      if (this.#isOver) {
        reject(new Error(`tmux is gone, and was asked: ${line}`));
        return;
      }
      this.#asked.push({ line, resolve, reject });
      this.#child.stdin.write(`${line}\n`);
    });
  }

  close(): void {
    this.#child.kill();
  }

  #read(line: string): void {
    const [, word, id, flags] = /^%(begin|end|error) (\d+ \d+) (\d+)$/.exec(line) ?? [];
    if (this.#block === null) {
      // The last bit is set if the command came from this client. Other lines that begin with % are notifications.
      if (word === "begin") this.#block = { id: id!, isOurs: (Number(flags) & 1) === 1, lines: [] };
      return;
    }
    if (word === undefined || word === "begin" || id !== this.#block.id) {
      this.#block.lines.push(line);
      return;
    }
    const { isOurs, lines } = this.#block;
    this.#block = null;
    if (!isOurs) return;
    const asked = this.#asked.shift()!;
    if (word === "end") asked.resolve(lines.map((one) => `${one}\n`).join(""));
    else asked.reject(new Error(`tmux: ${lines.join(" ")}: ${asked.line}`));
  }

  #end(): void {
    this.#isOver = true;
    for (const { line, reject } of this.#asked.splice(0)) reject(new Error(`tmux is gone, and was asked: ${line}`));
  }
}

/** Quotes a word for tmux, where no character has a meaning in single quotes. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
