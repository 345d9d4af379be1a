/** The verbs of careful mode: `../../careful.ts`. */
import type { Send } from "../../../domain/delivery.ts";
import type { Suspect } from "../../store.ts";
import type { Doors } from "../engine/doors.ts";
import type { Started } from "../claims/started.ts";

interface Parts extends Doors {
  readonly started: Started;
}

export class CarefulVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async markStarted(sends: readonly Send[]): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.started.mark(sends), { events: 0, deliveries: sends.length });
  }

  async suspects(): Promise<Suspect[]> {
    const { commit, read, started } = this.#parts;
    const { suspects, ended } = read(() => started.suspects());
    // Not to forget them costs another look at the next start.
    if (ended.length > 0) commit.run(() => ended.forEach((one) => started.ended(...one))).catch(() => {});
    return suspects;
  }

  async outlived(): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.started.outlive());
  }
}
