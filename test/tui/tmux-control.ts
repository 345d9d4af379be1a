/**
 * A client of a tmux server that stays: it takes one command after the other where each would cost a process of its own.
 * In tmux(1) under "CONTROL MODE".
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
  /** In the order in which they are answered. */
  readonly #asked: Asked[] = [];
  /** Of the answer that is being read. */
  #block: { readonly id: string; readonly isOurs: boolean; readonly lines: string[] } | null = null;
  #isOver = false;

  /** `server` are the words that lead to it, `-S` and the like. It neither sizes the window nor reads its output. */
  constructor(server: readonly string[], env: NodeJS.ProcessEnv) {
    const words = [...server, "-C", "attach", "-f", "ignore-size,no-output"];
    this.#child = spawn("tmux", words, { env, stdio: ["pipe", "pipe", "ignore"] });
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", () => {});
    let rest = "";
    // Not node:readline, for which lines end at U+2028, too.
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#read(line);
    });
    this.#child.once("close", () => this.#end());
  }

  /** What the command prints; rejects with what tmux has against it. No word of it may hold a line's end. */
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
      // The last bit says that the command came from here. What else begins with % is news.
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

/** As tmux reads commands, where nothing in single quotes means anything. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
