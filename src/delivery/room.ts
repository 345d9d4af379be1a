/** How much memory may hold of pending deliveries. Over that, what was not started is forgotten until there is room. */
import type { Clock } from "../clock.ts";
import type { Forgetting } from "./forgetting.ts";
import type { Sending } from "./send/sending.ts";
import { INITIAL_CAP } from "./send/endpoint-queue.ts";
import type { Windows } from "./windows.ts";

/** Deliveries that memory holds, in all; fresh ones of one endpoint; and what an endpoint may hold when it is full. */
const HELD_LIMIT = 20_000;
const HELD_FRESH_LIMIT = 4096;
const HELD_FEW = 32;
/** What is read of an endpoint while memory is full: one to send, and the next. */
const HELD_LEAST = 2;

export interface RoomParts {
  readonly clock: Clock;
  /** Bytes of bodies that memory may hold. */
  readonly heldBytes: number;
  readonly windows: Windows;
  readonly forgetting: Pick<Forgetting, "takeBack" | "forget">;
  readonly sending: Pick<Sending, "cap">;
  /** There is room again, so that what waits on disk can be read. */
  readonly onRoom: () => void;
  readonly onError: (error: unknown) => void;
}

export class Room {
  readonly #parts: RoomParts;
  #making = false;

  constructor(parts: RoomParts) {
    this.#parts = parts;
  }

  /** Whether one more fresh delivery of the endpoint may be held. */
  isFor(endpoint: string): boolean {
    const held = this.#parts.windows.heldOf(endpoint);
    // When others fill the memory, one who holds little still gets its fresh deliveries sent straight away.
    if (this.#isFull) return held < HELD_FEW;
    const cap = this.#parts.sending.cap(endpoint);
    return held < (cap < INITIAL_CAP ? 2 * cap : HELD_FRESH_LIMIT);
  }

  /**
   * How many deliveries of the endpoint may be held for what is read of it. When others fill the memory it still gets a
   * little, or it would wait for their receivers.
   */
  forDue(endpoint: string): number {
    return this.#isFull ? HELD_LEAST : 2 * this.#parts.sending.cap(endpoint);
  }

  /** Makes room if there is none, soon. */
  look(): void {
    if (!this.#isFull || this.#making) return;
    this.#making = true;
    // After the turn, so that all of a batch is there.
    const turn = new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
    void turn
      .then(() => this.#forgetUntilThereIsRoom())
      .catch((error: unknown) => this.#parts.onError(error))
      .finally(() => {
        this.#making = false;
      });
  }

  get #isFull(): boolean {
    const { heldBytes, windows } = this.#parts;
    return windows.held >= HELD_LIMIT || windows.bytes >= heldBytes;
  }

  /** Forgets what whoever holds most has not started; it is on the disk, and is read again when there is room. */
  async #forgetUntilThereIsRoom(): Promise<void> {
    const { forgetting, onRoom, windows } = this.#parts;
    while (this.#isFull) {
      const most = windows.fullest();
      const before = windows.held;
      if (most === undefined || most.held.size < HELD_FEW) break;
      await forgetting.forget(await forgetting.takeBack(most.endpoint));
      if (windows.held >= before) break;
    }
    onRoom();
  }
}
