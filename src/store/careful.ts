/** Careful mode: finding the delivery that the process dies of. */
import type { Claim, Job } from "../domain/delivery.ts";

export interface CarefulStore {
  /**
   * True after the process died in the first minute of its life twice in a row: then each delivery must be marked
   * before it is dialled. Recording its attempt takes the mark away.
   */
  readonly careful: boolean;
  markStarted(jobs: readonly Job[]): Promise<void>;
  /** Deliveries that were marked when the process died, and at how many deaths. */
  suspects(): Promise<Suspect[]>;
  /** The process has lived for a minute. */
  outlived(): Promise<void>;
}

export interface Suspect {
  readonly claim: Claim;
  readonly interruptions: number;
}
