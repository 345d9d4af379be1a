import type { ConfigInputs } from "../../src/config/inputs.ts";
import type { Io } from "../../cli/io.ts";
import { inputs } from "../config/inputs.ts";

/**
 * The process of a command, faked in memory. Its clock moves when the command sleeps, and the test sends its signals.
 */
export class FakeIo implements Io {
  out = "";
  err = "";
  exits: number[] = [];
  readonly env: Record<string, string | undefined>;
  readonly #machine: Partial<ConfigInputs>;
  #time = 1_700_000_000_000;
  #signals = new Set<(signal: "SIGINT" | "SIGTERM") => void>();
  readonly #isTTY: boolean;
  readonly #columns: number | undefined;
  readonly #input: readonly string[];
  readonly #bytes: Buffer | undefined;
  /** The questions asked, and whether each answer was hidden. */
  readonly asked: { readonly question: string; readonly hidden: boolean }[] = [];

  /** `input` is the lines that a person types, or the text piped in. `bytes` is piped in unchanged. */
  constructor({
    env = {},
    machine = {},
    isTTY = false,
    columns,
    input = [],
    bytes,
  }: {
    env?: Record<string, string>;
    machine?: Partial<ConfigInputs>;
    isTTY?: boolean;
    columns?: number;
    input?: readonly string[];
    bytes?: Buffer | undefined;
  } = {}) {
    this.env = env;
    this.#machine = machine;
    this.#isTTY = isTTY;
    this.#columns = columns;
    this.#input = input;
    this.#bytes = bytes;
  }

  get stdin() {
    return {
      isTTY: this.#isTTY,
      read: async () => this.#bytes ?? Buffer.from(this.#input.map((line) => `${line}\n`).join("")),
      ask: async (question: string, { hidden = false } = {}) =>
        this.#input[this.asked.push({ question, hidden }) - 1] ?? null,
    };
  }

  get stdout() {
    const write = (text: string) => {
      this.out += text;
      if (this.reader !== undefined && !this.reader(this.out)) for (const run of this.#closing.splice(0)) run();
    };
    return this.#output(write);
  }

  get stderr() {
    return this.#output((text) => void (this.err += text));
  }

  /** Called with all of stdout after each write. Once it returns false, stdout is closed. */
  reader: ((out: string) => boolean) | undefined;
  readonly #closing: (() => void)[] = [];

  #output(write: (text: string) => void) {
    const onClosed = (run: () => void) => void this.#closing.push(run);
    return { write, onClosed, isTTY: this.#isTTY, columns: this.#columns };
  }

  configInputs = (flags: ConfigInputs["flags"]) => inputs({ env: this.env, ...this.#machine, flags });
  typedUtf8 = () => true;
  inheritedSocket = () => null;
  now = () => this.#time;
  monotonic = () => this.#time;

  /** Takes one turn of the event loop, and moves the clock by the full time. */
  sleep = async (ms: number) => {
    this.#time += ms;
    await new Promise((resolve) => setImmediate(resolve));
  };

  onSignal = (run: (signal: "SIGINT" | "SIGTERM") => void) => {
    this.#signals.add(run);
    return () => void this.#signals.delete(run);
  };

  readonly #hangups: (() => void)[] = [];
  onHangup = (run: () => void) => void this.#hangups.push(run);
  hangUp = () => this.#hangups.forEach((run) => run());

  exit = (code: number) => void this.exits.push(code);

  /** Sends the signal a second after the previous one, as a person would. */
  signal(signal: "SIGINT" | "SIGTERM", { echoes = 0 } = {}): void {
    this.#time += 1000;
    for (let sent = 0; sent <= echoes; sent++) for (const run of this.#signals) run(signal);
  }

  get watchesSignals(): boolean {
    return this.#signals.size > 0;
  }
}
