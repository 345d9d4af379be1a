/**
 * Checks twice a second, over a separate connection, that the server is alive. Even a slow server answers this at once,
 * because the check needs no lock, disk, commit or standby. A server that is cut off or stopped does not answer. So
 * waiting for a commit may take long, but a silence may not.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "./session.ts";
import { unawaited } from "../../../domain/unawaited.ts";

const TICK_MS = 250;
const BEAT_TICKS = 2;
/** Callers hear of a silence within three seconds: after this time, plus the time of a check and its answer. */
const SILENT_MS = 2000;

export interface Silence {
  readonly forMs: number;
  /** The error of the last check; null if there was none. */
  readonly cause: unknown;
}

export class Pulse {
  readonly #session: Session;
  readonly #onSilent: () => void;
  /** Counted in ticks, because nothing was asked while this process was suspended. */
  #unheardMs = 0;
  #cause: unknown = null;
  #isSilent = false;
  #isAsking = false;
  #stopped = false;

  /** `onSilent` is called when a silence begins. */
  constructor(session: Session, onSilent: () => void) {
    this.#session = session;
    this.#onSilent = onSilent;
  }

  /** Null while the server answers. */
  get silence(): Silence | null {
    return this.#isSilent ? { forMs: this.#unheardMs, cause: this.#cause } : null;
  }

  /** Takes any answer as a sign that the server is alive, even one that the pulse did not ask for. */
  noteAnswer(): void {
    this.#unheardMs = 0;
    this.#isSilent = false;
    this.#cause = null;
  }

  start(): void {
    unawaited(this.#run());
  }

  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    for (let tick = 0; !this.#stopped; tick++) {
      if (!this.#isAsking && (this.#isSilent || tick % BEAT_TICKS === 0)) unawaited(this.#ask());
      await sleep(TICK_MS, undefined, { ref: false });
      // First handle what arrived while this process could not listen.
      await new Promise((resolve) => setImmediate(resolve));
      this.#unheardMs += TICK_MS;
      if (this.#unheardMs < SILENT_MS || this.#isSilent || this.#stopped) continue;
      this.#isSilent = true;
      this.#session.cut();
      this.#onSilent();
    }
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      await (await this.#session.client()).query("SELECT 1");
      this.noteAnswer();
    } catch (error) {
      this.#cause = error;
      this.#session.drop();
    } finally {
      this.#isAsking = false;
    }
  }
}
