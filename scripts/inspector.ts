/** Watches a running Node process and its worker threads as a debugger does, over the inspector's protocol. */
import { once } from "node:events";
import { unawaited } from "../src/domain/unawaited.ts";

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** The parameters of the protocol events that are used here. */
interface Params {
  readonly scriptId: string;
  readonly url: string;
  readonly sessionId: string;
  readonly message: string;
}

interface Coverage {
  readonly scriptId: string;
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly [{ startOffset: number; endOffset: number; count: number }];
  }[];
}

/** An entry into a function of a file, in milliseconds since the epoch. */
export type Entry = readonly [file: string, at: number];

export class Inspector {
  readonly #socket: WebSocket;
  readonly #main: Target;
  readonly #workers = new Map<string, Target>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#main = new Target((text) => socket.send(text));
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data)) as Answer));
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Inspector(socket);
  }

  /** Returns the main thread, and every worker that is running. */
  async targets(): Promise<Target[]> {
    await this.#main.ask("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return [this.#main, ...this.#workers.values()];
  }

  close(): void {
    this.#socket.close();
  }

  #receive(answer: Answer): void {
    if (answer.method === "NodeWorker.attachedToWorker") {
      const { sessionId } = answer.params!;
      const send = (message: string) => this.#main.ask("NodeWorker.sendMessageToWorker", { sessionId, message });
      this.#workers.set(sessionId, new Target((message) => unawaited(send(message))));
    } else if (answer.method === "NodeWorker.receivedMessageFromWorker") {
      const { sessionId, message } = answer.params!;
      this.#workers.get(sessionId)?.receive(JSON.parse(message) as Answer);
    } else this.#main.receive(answer);
  }
}

export class Target {
  readonly #send: (text: string) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;
  #prefix = "";

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  async ask<T>(method: string, params: object = {}): Promise<T> {
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(++this.#asked, waiting);
    this.#send(JSON.stringify({ id: this.#asked, method, params }));
    return (await waiting.promise) as T;
  }

  receive({ id, result, error }: Answer): void {
    if (id === undefined) return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }

  /** Records, from now on, which functions of files below the URL run. */
  async watch(prefix: string): Promise<void> {
    this.#prefix = prefix;
    await this.ask("Debugger.enable");
    await this.ask("Profiler.enable");
    await this.ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  /** Records, from now on, each entry into a function that has run since `watch`. */
  async noteEntries(): Promise<void> {
    const { result } = await this.ask<{ result: Coverage[] }>("Profiler.takePreciseCoverage");
    await this.ask("Profiler.stopPreciseCoverage");
    for (const { scriptId, url, functions } of result) {
      if (!url.startsWith(this.#prefix)) continue;
      const { scriptSource: source } = await this.ask<{ scriptSource: string }>("Debugger.getScriptSource", {
        scriptId,
      });
      for (const { ranges } of functions) {
        const [{ startOffset, endOffset, count }] = ranges;
        // A function that starts at offset 0 is the module itself, which ran when it was loaded.
        if (count > 0 && startOffset > 0)
          await this.#note(scriptId, url, placeOf(source, startOffset), placeOf(source, endOffset));
      }
    }
  }

  /** Returns the entries since the last call, in order. */
  async entries(): Promise<Entry[]> {
    const expression = "JSON.stringify((globalThis.routeEntries ?? []).splice(0))";
    const { result } = await this.ask<{ result: { value: string } }>("Runtime.evaluate", { expression });
    return JSON.parse(result.value) as Entry[];
  }

  async #note(scriptId: string, url: string, start: Place, end: Place): Promise<void> {
    const within = { start: { scriptId, ...start }, end: { scriptId, ...end }, restrictToFunction: true };
    const { locations } = await this.ask<{ locations: object[] }>("Debugger.getPossibleBreakpoints", within);
    if (locations.length === 0) return;
    const file = JSON.stringify(url.slice(this.#prefix.length));
    const at = "globalThis.performance.timeOrigin + globalThis.performance.now()";
    const condition = `(globalThis.routeEntries ??= []).push([${file}, ${at}]), false`;
    // Setting a breakpoint fails if another function begins at the same place.
    await this.ask("Debugger.setBreakpoint", { location: locations[0], condition }).catch(() => {});
  }
}

interface Place {
  readonly lineNumber: number;
  readonly columnNumber: number;
}

function placeOf(source: string, offset: number): Place {
  const before = source.slice(0, offset);
  const lineNumber = before.split("\n").length - 1;
  return { lineNumber, columnNumber: offset - (before.lastIndexOf("\n") + 1) };
}
