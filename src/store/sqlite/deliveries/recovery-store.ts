/** What must be set right after a death of the process, and after the clock was set. */
import type { Position, Send } from "../../../domain/deliveries/delivery.ts";
import type { Reserve } from "../../files/reserve.ts";
import type { RecoveryStore, Shift, Shifted, Suspect } from "../../store.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Started } from "../claims/started.ts";
import type { Sweep } from "../endpoints/sweep.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { ShiftDue } from "./shift.ts";

interface Parts {
  readonly index: EndpointIndex;
  readonly manual: ManualAttempts;
  readonly reserve: Reserve;
  readonly started: Started;
  readonly sweep: Sweep;
}

export class SqliteRecovery implements RecoveryStore {
  readonly careful: boolean;
  readonly lastInstant: number;
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #shift: ShiftDue;
  #tookUp = false;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#shift = new ShiftDue(engine.db, parts.index);
    this.careful = parts.started.careful;
    this.lastInstant = engine.lastInstant;
  }

  /** Nothing here grows with the backlog. */
  async takeUp(): Promise<boolean> {
    const { manual, reserve, started, sweep } = this.#parts;
    const { clock, condition } = this.#engine;
    if (this.#tookUp) return true;
    try {
      started.begin();
      sweep.releaseFresh(clock.now());
      manual.dropVain();
      this.#tookUp = true;
    } catch (error) {
      if (!condition.isFull(error)) throw error;
      if (reserve.release()) return this.takeUp();
    }
    condition.behind = !this.#tookUp;
    return this.#tookUp;
  }

  async markStarted(sends: readonly Send[]): Promise<void> {
    await this.#engine.commit.run(() => this.#parts.started.mark(sends), { events: 0, deliveries: sends.length });
  }

  async suspects(): Promise<Suspect[]> {
    const { started } = this.#parts;
    const { suspects, ended } = this.#engine.read(() => started.suspects());
    // Not to forget them costs another look at the next start.
    if (ended.length > 0) this.#engine.commit.run(() => ended.forEach((one) => started.ended(...one))).catch(() => {});
    return suspects;
  }

  async outlived(): Promise<void> {
    await this.#engine.commit.run(() => this.#parts.started.outlive());
  }

  async shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted> {
    return this.#engine.commit.run(() => this.#shift.shift(endpoint, shift, from));
  }

  async clockUnsettled(): Promise<void> {
    await this.#engine.commit.run(() => this.#engine.meta.setInstant(Number.MAX_SAFE_INTEGER));
  }

  async clockSettled(now: number): Promise<void> {
    await this.#engine.commit.run(() => this.#engine.meta.setInstant(now));
  }
}
