/** Rotation of signing secrets: `docs/interface.md` §5. */
import type { NextSecret, SigningSecrets } from "../../domain/endpoints/endpoint.ts";
import type { Once } from "../../domain/events/idempotency.ts";

export interface SecretStore {
  get(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null>;
  /**
   * Puts the next secret beside the current one; it takes over at once if that is due by `now`, also from secrets that
   * cannot be read.
   */
  rotate(tenant: string | null, id: string, next: NextSecret, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** The next secret takes over. */
  complete(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation>;
  /** The next secret is forgotten. */
  abandon(tenant: string | null, id: string): Promise<Rotation>;
  /**
   * Lets the next secrets take over that are due by `now`, at most 500, and names their endpoints: the sender must
   * hear of it. A later `now` that lies behind takes nothing back.
   */
  switchDue(now: number): Promise<readonly string[]>;
}

export type Rotation =
  | { readonly result: "not_found" | "rotation_in_progress" | "not_rotating" | "damaged" }
  | { readonly result: "done"; readonly secrets: SigningSecrets };
