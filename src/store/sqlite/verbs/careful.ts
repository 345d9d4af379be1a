/** The verbs of careful mode: `../../careful.ts`. */
import type { Job } from "../../../domain/delivery.ts";
import type { CarefulStore, Suspect } from "../../careful.ts";
import type { Doors } from "../doors.ts";
import type { Started } from "../started.ts";

interface Parts extends Doors {
  readonly started: Started;
}

export class CarefulVerbs implements Omit<CarefulStore, "careful"> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async markStarted(jobs: readonly Job[]): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.started.mark(jobs), { events: 0, deliveries: jobs.length });
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
