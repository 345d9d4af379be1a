/** Memory lets go of a delivery: its attempt was recorded, or there will be none for now. */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Windows } from "./windows.ts";

export interface ReleasesParts {
  readonly clock: Clock;
  readonly windows: Windows;
  /** Called at each release, once it is done. */
  readonly onReleased: (delivery: string) => void;
}

export class Releases {
  readonly #parts: ReleasesParts;
  /** By delivery: who waits for its release. */
  readonly #watched = new Map<string, () => void>();

  constructor(parts: ReleasesParts) {
    this.#parts = parts;
  }

  readonly release = ({ endpoint, delivery }: Pick<Claim, "endpoint" | "delivery">): void => {
    this.#parts.windows.release(endpoint, delivery);
    if (this.#watched.size > 0) this.#watched.get(delivery)?.();
    this.#parts.onReleased(delivery);
  };

  /** As `Deliveries.whenReleased`. */
  when({ endpoint, delivery }: Claim, run: () => void): () => void {
    const { clock, windows } = this.#parts;
    if (windows.find(endpoint, delivery) === undefined) clock.nextTurn(run);
    else this.#watched.set(delivery, run);
    return () => void this.#watched.delete(delivery);
  }

  /** Nothing is released any more: whoever waits is told. */
  end(): void {
    for (const run of this.#watched.values()) run();
  }
}
