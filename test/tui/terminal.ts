/** A terminal in memory: it interprets what is written, and the test types the input. */
import { EventEmitter } from "node:events";
import { Console } from "node:console";
import { Readable } from "node:stream";
import xterm from "@xterm/headless";
import type { Size } from "../../tui/model/state.ts";

// Vitest's console lacks this class, which Ink uses.
console.Console ??= Console;

export class FakeTerminal {
  readonly stdout: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** Everything that was written. */
  raw = "";
  readonly #screen: InstanceType<typeof xterm.Terminal>;
  #parsed: Promise<void> = Promise.resolve();
  #isRaw = false;

  constructor({ columns, rows }: Size) {
    this.#screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
    const write = (text: string | Uint8Array, ...rest: unknown[]) => {
      this.raw += String(text);
      this.#parsed = new Promise((resolve) => this.#screen.write(text, resolve));
      const done = rest.find((one) => typeof one === "function") as (() => void) | undefined;
      if (done !== undefined) queueMicrotask(done);
      return true;
    };
    this.stdout = Object.assign(new EventEmitter(), { isTTY: true, columns, rows, write }) as never;
    const input = new Readable({ read: () => {} });
    const setRawMode = (on: boolean) => void (this.#isRaw = on);
    this.stdin = Object.assign(input, { isTTY: true, setRawMode, ref() {}, unref() {} }) as never;
  }

  /** Types the text in one chunk. */
  type(text: string): void {
    this.stdin.push(text);
  }

  resize({ columns, rows }: Size): void {
    Object.assign(this.stdout, { columns, rows });
    this.#screen.resize(columns, rows);
    this.stdout.emit("resize");
  }

  /** Returns the lines that a person sees, without spaces at their ends. */
  async lines(): Promise<string[]> {
    await this.#parsed;
    const { active } = this.#screen.buffer;
    return Array.from(
      { length: this.#screen.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
    );
  }

  async text(): Promise<string> {
    return (await this.lines()).join("\n");
  }

  async state(): Promise<{ alternate: boolean; wraps: boolean; raw: boolean; cursor: boolean }> {
    await this.#parsed;
    return {
      alternate: this.#screen.buffer.active.type === "alternate",
      wraps: this.#screen.modes.wraparoundMode,
      raw: this.#isRaw,
      cursor: this.raw.lastIndexOf("\x1b[?25h") >= this.raw.lastIndexOf("\x1b[?25l"),
    };
  }
}
