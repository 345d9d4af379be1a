/**
 * Whether the server lives, asked twice a second over a connection of its own. A server that is slow answers this at once,
 * whatever it is slow at: it takes no lock, no disk, no commit and no standby. One that is cut off, or stopped, does not.
 * So a wait for a commit may be long, and a silence may not.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "./session.ts";
import { unawaited } from "../../../domain/unawaited.ts";

const TICK_MS = 250;
const BEAT_TICKS = 2;
/** What waits is told so within three seconds: this, and what a look and its answer take. */
const SILENT_MS = 2000;

export interface Silence {
  readonly forMs: number;
  /** What the last look met; null where it met nothing. */
  readonly cause: unknown;
}

export class Pulse {
  readonly #session: Session;
  readonly #onSilent: () => void;
  /** Counted in ticks: while this process was suspended, nobody was asked. */
  #unheardMs = 0;
  #cause: unknown = null;
  #isSilent = false;
  #isAsking = false;
  #stopped = false;

  /** `onSilent` is called when it begins. */
  constructor(session: Session, onSilent: () => void) {
    this.#session = session;
    this.#onSilent = onSilent;
  }

  /** Null while the server answers. */
  get silence(): Silence | null {
    return this.#isSilent ? { forMs: this.#unheardMs, cause: this.#cause } : null;
  }

  /** Takes any answer as a sign that the server lives, even one that the pulse did not ask for. */
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
      // What came while this process could not listen is heard first.
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
