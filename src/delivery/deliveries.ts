/** What the rest of the daemon asks of the delivery side; the dispatcher keeps it. */
import type { HasRoom, Handover } from "../store/store.ts";

export interface Deliveries {
  /** Passed to `store.publish`. */
  readonly hasRoom: HasRoom;
  /** Takes what a commit made, in the same turn in which the commit's answer arrived. */
  accept(handover: Handover): void;
  /** Reads the endpoint's settings and secrets anew; resolves once nothing is sent with the old ones. */
  refresh(endpoint: string): Promise<void>;
  /** Resolves once nothing more is started for the endpoint. What is on the wire is still recorded. */
  drop(endpoint: string): Promise<void>;
}
