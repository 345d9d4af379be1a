/** Runs the reducer: carries out its effects, and passes it the results and the time. */
import type { Client } from "../src/client/client.ts";
import { isClientError } from "../src/client/error.ts";
import type { StreamMessage } from "../src/client/stream.ts";
import { frameOf } from "./frame.ts";
import type { KeyName } from "./keystrokes.ts";
import type { MouseReport } from "./mouse/reports.ts";
import type { Answered, Call, Problem } from "./model/call.ts";
import type { Effect, Message, Size, State, Step } from "./model/state.ts";
import { reduce } from "./state/reduce.ts";
import { refreshMs, tickMs } from "./state/tick.ts";
import { unawaited } from "../src/domain/unawaited.ts";

/** A message without its time. */
type Said = Message extends infer M ? (M extends unknown ? Omit<M, "now"> : never) : never;

/** Messages that a person causes. */
const URGENT: ReadonlySet<Message["kind"]> = new Set(["keys", "paste", "mouse", "size"]);
/** For this long after such a message, responses are drawn as they arrive. */
const HURRY_MS = 1000;
/** Responses to the requests of one message arrive this close together, so they share a frame. */
const GATHER_MS = 30;

/** Everything that the program needs from the process. */
export interface Surroundings {
  /** Epoch milliseconds. */
  now(): number;
  /** Runs once, later. The returned function cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Turns the terminal's mouse reports on or off. */
  mouse(isOn: boolean): void;
  suspend(): void;
  redraw(): void;
  copy(text: string): void;
  /** Writes a new file that only its owner may read, and returns its path. Throws the system's error. */
  save(name: string, text: string): string;
  quit(exit: number): void;
}

export class Program {
  #state: State;
  #lines: readonly string[] | null = null;
  readonly #client: Client;
  readonly #around: Surroundings;
  readonly #listeners = new Set<() => void>();
  #stream: AbortController | null = null;
  #messages: StreamMessage[] = [];
  #forgetFlush: (() => void) | null = null;
  #flushed = 0;
  #forgetDraw: (() => void) | null = null;
  #drawn = 0;
  #hurriedUntil = 0;
  #tick: { readonly at: number; readonly forget: () => void } | null = null;
  #isOver = false;

  constructor(state: State, client: Client, around: Surroundings) {
    this.#state = state;
    this.#client = client;
    this.#around = around;
  }

  get state(): State {
    return this.#state;
  }

  start(): void {
    // The person who opened the dashboard is waiting for it.
    this.#hurriedUntil = this.#around.now() + HURRY_MS;
    this.#run({ do: "connect", lastEventId: null });
    this.#plan();
  }

  stop(): void {
    this.#isOver = true;
    this.#stream?.abort();
    this.#forgetFlush?.();
    this.#forgetDraw?.();
    this.#tick?.forget();
  }

  keys(keys: readonly KeyName[]): void {
    if (keys.length > 0) this.say({ kind: "keys", keys });
  }

  paste(text: string): void {
    this.say({ kind: "paste", text });
  }

  mouse(reports: readonly MouseReport[]): void {
    if (reports.length > 0) this.say({ kind: "mouse", reports });
  }

  resize(size: Size): void {
    this.say({ kind: "size", size });
  }

  /** React draws nothing while this returns the same array. */
  lines = (): readonly string[] => {
    if (this.#lines === null) this.#lines = frameOf(this.#state);
    return this.#lines;
  };

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  say(said: Said): void {
    if (this.#isOver) return;
    const before = this.#state;
    const step: Step = reduce(before, { ...said, now: this.#around.now() } as Message);
    this.#state = step.state;
    this.#planDraw(URGENT.has(said.kind));
    for (const effect of step.effects) this.#run(effect);
    this.#plan();
  }

  /**
   * Draws at once what a person did, the results soon after, and messages of the stream together with what is read
   * because of them.
   */
  #planDraw(urgent: boolean): void {
    const now = this.#around.now();
    if (urgent) this.#hurriedUntil = now + HURRY_MS;
    if (urgent) this.#draw();
    else if (this.#forgetDraw === null) {
      const rest = now < this.#hurriedUntil ? 0 : refreshMs(this.#state);
      const wait = Math.max(GATHER_MS, this.#drawn + rest - now);
      this.#forgetDraw = this.#around.after(wait, () => this.#draw());
    }
  }

  #draw(): void {
    this.#forgetDraw?.();
    this.#forgetDraw = null;
    this.#drawn = this.#around.now();
    const before = this.#lines;
    const lines = frameOf(this.#state);
    if (before !== null && before.length === lines.length && lines.every((line, at) => line === before[at])) return;
    this.#lines = lines;
    for (const listener of this.#listeners) listener();
  }

  #run(effect: Effect): void {
    switch (effect.do) {
      case "call":
        unawaited(this.#call(effect.call));
        return;
      case "connect":
        unawaited(this.#follow(effect.lastEventId));
        return;
      case "copy":
        this.#around.copy(effect.text);
        return;
      case "save":
        this.#save(effect.name, effect.text);
        return;
      case "mouse":
        this.#around.mouse(effect.isOn);
        return;
      case "suspend":
        this.#around.suspend();
        return;
      case "redraw":
        this.#around.redraw();
        return;
      case "quit":
        this.#around.quit(effect.exit);
    }
  }

  #save(name: string, text: string): void {
    try {
      this.say({ kind: "saved", path: this.#around.save(name, text) });
    } catch (error) {
      this.say({ kind: "unsaved", why: (error as Error).message });
    }
  }

  async #call(call: Call): Promise<void> {
    try {
      const answer = await this.#client.call(call.operation, call.ask);
      this.say({ kind: "answered", call, answer } as unknown as Answered);
    } catch (error) {
      this.say({ kind: "failed", call, problem: problemOf(error) });
    }
  }

  async #follow(lastEventId: string | null): Promise<void> {
    this.#stream?.abort();
    const stream = new AbortController();
    this.#stream = stream;
    try {
      const options = { signal: stream.signal, ...(lastEventId !== null && { lastEventId }) };
      for await (const message of this.#client.changes(options)) {
        if (stream.signal.aborted) return;
        this.#take(message);
      }
      this.#lose(stream, {
        failure: "unreachable",
        code: "ended",
        message: "the daemon ended the connection",
        hint: "",
      });
    } catch (error) {
      this.#lose(stream, problemOf(error));
    }
  }

  #lose(stream: AbortController, problem: Problem): void {
    if (stream.signal.aborted) return;
    this.#flush();
    this.say({ kind: "lost", problem });
  }

  /** Gathers many messages into one change of the screen. */
  #take(message: StreamMessage): void {
    this.#messages.push(message);
    if (this.#forgetFlush !== null) return;
    const wait = Math.max(0, this.#flushed + refreshMs(this.#state) - this.#around.now());
    // Even with 0 ms, messages in the same chunk as the first one arrive before this runs.
    this.#forgetFlush = this.#around.after(wait, () => this.#flush());
  }

  #flush(): void {
    this.#forgetFlush?.();
    this.#forgetFlush = null;
    const messages = this.#messages;
    this.#messages = [];
    if (messages.length === 0) return;
    this.#flushed = this.#around.now();
    this.say({ kind: "stream", messages });
  }

  /** Plans the next tick, unless an earlier one is planned. */
  #plan(): void {
    if (this.#isOver) return;
    const at = this.#around.now() + tickMs(this.#state);
    if (this.#tick !== null && this.#tick.at <= at) return;
    this.#tick?.forget();
    const forget = this.#around.after(at - this.#around.now(), () => {
      this.#tick = null;
      this.say({ kind: "tick" });
    });
    this.#tick = { at, forget };
  }
}

/** Returns the daemon's refusal, or the fact that it did not respond. Any other error is a bug and is thrown. */
function problemOf(error: unknown): Problem {
  if (!isClientError(error)) throw error;
  const { failure, code, message, hint = "", faults } = error;
  return { failure, code, message, hint, faults };
}
