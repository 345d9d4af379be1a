/** The verbs for when the clock was set: `../../clock.ts`. */
import type { Position } from "../../../domain/delivery.ts";
import type { Shift, Shifted } from "../../store.ts";
import type { Doors } from "../engine/doors.ts";
import type { Meta } from "../engine/meta.ts";
import type { ShiftDue } from "./shift.ts";

interface Parts extends Doors {
  readonly shift: ShiftDue;
  readonly meta: Meta;
}

export class ClockVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted> {
    return this.#parts.commit.run(() => this.#parts.shift.shift(endpoint, shift, from));
  }

  async clockUnsettled(): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.meta.setInstant(Number.MAX_SAFE_INTEGER));
  }

  async clockSettled(now: number): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.meta.setInstant(now));
  }
}
