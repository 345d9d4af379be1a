/** The verbs about rotation of signing secrets: `../../rotation.ts`. */
import type { NextSecret, SigningSecrets } from "../../../domain/endpoint.ts";
import type { Once } from "../../../domain/idempotency.ts";
import type { Rotation as Rotated } from "../../store.ts";
import type { Doors } from "../engine/doors.ts";
import type { Rotation } from "./rotation.ts";
import { CHUNK } from "../endpoints/sweep.ts";

interface Parts extends Doors {
  readonly rotation: Rotation;
}

export class RotationVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async signingSecrets(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null> {
    return this.#parts.read(() => this.#parts.rotation.secrets(tenant, id));
  }

  rotateSecret(
    tenant: string | null,
    id: string,
    next: NextSecret,
    now: number,
    once?: Once<Rotated>,
  ): Promise<Rotated> {
    return this.#parts.once(once, now, () => this.#parts.rotation.begin(tenant, id, next, now));
  }

  completeRotation(tenant: string | null, id: string, now: number, once?: Once<Rotated>): Promise<Rotated> {
    return this.#parts.once(once, now, () => this.#parts.rotation.complete(tenant, id));
  }

  async abandonRotation(tenant: string | null, id: string): Promise<Rotated> {
    return this.#parts.commit.run(() => this.#parts.rotation.abandon(tenant, id));
  }

  async switchSecrets(now: number): Promise<readonly string[]> {
    // Asked each second: a commit, which writes, is only for when there is something to do.
    if (!this.#parts.read(() => this.#parts.rotation.isDue(now, CHUNK))) return [];
    return this.#parts.commit.run(() => this.#parts.rotation.switchDue(now, CHUNK));
  }
}
