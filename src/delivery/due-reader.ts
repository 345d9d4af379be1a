/** Reads what has fallen due from the disk into the windows, as far as they have room, and has it sent. */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Store } from "../store/store.ts";
import type { ClockShift } from "./clock-shift.ts";
import type { Targets } from "./targets.ts";
import type { Window } from "./window.ts";
import type { Windows } from "./windows.ts";

/** Rows that are read in one turn of the event loop. */
const READ_LIMIT = 256;
/** What a read costs at least, in rows: so many reads go into one turn. */
const READ_COST = 8;
const AGAIN_MS = 1000;

export interface DueReaderParts {
  readonly store: Pick<Store, "deliveries">;
  readonly clock: Clock;
  readonly windows: Windows;
  readonly targets: Pick<Targets, "get">;
  readonly shift: Pick<ClockShift, "look" | "run">;
  /** How many deliveries of the endpoint may be held. */
  readonly roomFor: (endpoint: string) => number;
  /** Hands what memory now holds to the sender. */
  readonly send: (endpoint: string, claims: readonly Claim[]) => void;
  /** Once this is true, a pass ends after the read that is under way. */
  readonly stopping: () => boolean;
}

export class DueReader {
  readonly #parts: DueReaderParts;

  constructor(parts: DueReaderParts) {
    this.#parts = parts;
  }

  /** One look at every window with something due. It yields to the event loop between turns' worth of rows. */
  async pass(): Promise<void> {
    const { clock, shift, stopping, windows } = this.#parts;
    shift.look();
    await shift.run();
    const now = clock.now();
    let readInThisTurn = 0;
    for (let window = windows.takeDue(now); window !== undefined; window = windows.takeDue(now)) {
      try {
        readInThisTurn += await this.#read(window);
      } catch (error) {
        // The agenda named it once, and the next pass must find it again.
        windows.plan(window);
        throw error;
      }
      if (stopping()) return;
      if (readInThisTurn < READ_LIMIT) continue;
      readInThisTurn = 0;
      await new Promise<void>((resolve) => clock.nextTurn(resolve));
    }
  }

  /**
   * Reads what is due of one endpoint, as much as its window takes; the rest comes when there is room again. The
   * answer is what the read cost, in rows.
   */
  async #read(window: Window): Promise<number> {
    const { clock, send, store, targets, windows } = this.#parts;
    const room = this.#parts.roomFor(window.endpoint) - window.held.size;
    if (room <= 0) return 0;
    const target = await targets.get(window.endpoint);
    if (target === null || !target.enabled) return 1;
    const limit = Math.min(room, READ_LIMIT);
    const until = clock.now();
    const after = window.beginRead();
    let claims: Claim[];
    try {
      const page = await store.deliveries.due(window.endpoint, after, until, limit);
      if (page.cancelling) return this.#readLater(window);
      claims = windows.endRead(window, page, until, limit);
    } catch (error) {
      window.cancelRead();
      throw error;
    }
    send(window.endpoint, claims);
    return Math.max(READ_COST, claims.length);
  }

  /** What it was owed is being cancelled; new events go on meanwhile. */
  #readLater(window: Window): number {
    window.cancelRead();
    window.nextDueAt = this.#parts.clock.now() + AGAIN_MS;
    this.#parts.windows.plan(window);
    return READ_COST;
  }
}
