/**
 * The reader's thread, as the writer's thread sees it. It starts with the first question and ends after a minute
 * without one, so that an idle daemon holds no memory for it.
 */
import type { Worker } from "node:worker_threads";
import type { Engine } from "../engine/engine.ts";
import {
  callerGone,
  receivedError,
  type Answer,
  type Asked,
  type Asking,
  type FromReader,
  type Pieces,
  type Question,
  type Reader,
  type ReaderThreadData,
  type ToReader,
} from "./questions.ts";
import { storageUnavailable } from "../../files/unavailable.ts";
import { unawaited } from "../../../domain/unawaited.ts";

export type StartReader = (data: ReaderThreadData) => Pick<Worker, "postMessage" | "on" | "terminate">;

const IDLE_MS = 60_000;
const LOOK_AT_LOG_MS = 1000;
/**
 * The log may have this many pages, or 16 MiB. Pages that a reader still sees cannot be moved out of the log, and
 * readers that follow each other without a pause would let it grow.
 */
const LOG_PAGES = 2048;
/** The caller of all work that names none, such as the daemon's own jobs. */
const NOBODY = "";

interface Waiting {
  readonly onPiece: ((piece: unknown) => Promise<unknown>) | undefined;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

export class ReaderThreadPort implements Reader {
  readonly #engine: Engine;
  readonly #start: () => ReturnType<StartReader>;
  readonly #waiting = new Map<number, Waiting>();
  #thread: ReturnType<StartReader> | null = null;
  #last = 0;
  #closed = false;
  #cancelIdle: (() => void) | null = null;
  #cancelLook: (() => void) | null = null;

  constructor(engine: Engine, start: () => ReturnType<StartReader>) {
    this.#engine = engine;
    this.#start = start;
  }

  async ask<Q extends Question>(question: Q, asked: Asked<Q>, { caller, onPiece }: Asking<Q> = {}): Promise<Answer<Q>> {
    this.#engine.condition.requireUsable();
    if (this.#closed) throw storageUnavailable();
    const id = ++this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<Answer<Q>>();
    this.#waiting.set(id, {
      onPiece: onPiece && ((piece) => onPiece(piece as Pieces[Q])),
      resolve: resolve as Waiting["resolve"],
      reject,
    });
    const stop = caller?.whenGone(() => {
      if (this.#waiting.has(id)) this.#say({ kind: "drop", id });
      reject(callerGone());
    });
    this.#say({ kind: "ask", id, caller: caller?.name ?? NOBODY, question, asked });
    this.#cancelIdle?.();
    this.#cancelIdle = null;
    this.#cancelLook ??= this.#engine.clock.after(LOOK_AT_LOG_MS, () => this.#lookAtLog());
    try {
      return await promise;
    } finally {
      stop?.();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#rest();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelIdle?.();
    this.#cancelLook?.();
    for (const { reject } of this.#waiting.values()) reject(storageUnavailable());
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }

  #say(message: ToReader): void {
    (this.#thread ??= this.#started()).postMessage(message);
  }

  #started(): ReturnType<StartReader> {
    const thread = this.#start();
    const ended = (error: unknown) => {
      if (this.#thread === thread) this.#thread = null;
      else return;
      for (const { reject } of this.#waiting.values()) reject(error);
    };
    thread.on("message", (message: FromReader) => this.#receive(message));
    thread.on("error", (error) => ended(this.#engine.condition.failed(error) ?? error));
    thread.on("exit", () => ended(storageUnavailable()));
    return thread;
  }

  #receive(message: FromReader): void {
    const { condition } = this.#engine;
    if (message.kind === "resting") return this.#moveLog();
    const waiting = this.#waiting.get(message.id);
    if (message.kind === "answer") waiting?.resolve(message.answer);
    if (message.kind === "error") {
      const error = receivedError(message.error);
      // Damage ends the process, whichever thread found it.
      const fault = condition.failed(error) ?? error;
      waiting?.reject(fault);
    }
    if (message.kind === "piece") unawaited(this.#take(message.id, message.piece, waiting));
  }

  async #take(id: number, piece: unknown, waiting: Waiting | undefined): Promise<void> {
    try {
      await waiting?.onPiece?.(piece);
      if (this.#waiting.has(id)) this.#say({ kind: "more", id });
    } catch (error) {
      waiting?.reject(error);
      this.#say({ kind: "drop", id });
    }
  }

  #rest(): void {
    if (this.#closed || this.#thread === null) return;
    this.#cancelIdle?.();
    this.#cancelIdle = this.#engine.clock.after(IDLE_MS, () => {
      const thread = this.#thread;
      this.#thread = null;
      this.#cancelIdle = null;
      unawaited(thread?.terminate());
    });
  }

  #lookAtLog(): void {
    this.#cancelLook = null;
    if (this.#waiting.size === 0 || this.#thread === null) return;
    this.#cancelLook = this.#engine.clock.after(LOOK_AT_LOG_MS, () => this.#lookAtLog());
    if (this.#engine.log.isFull(LOG_PAGES)) this.#say({ kind: "rest" });
  }

  #moveLog(): void {
    this.#engine.log.move();
    this.#say({ kind: "go" });
  }
}
