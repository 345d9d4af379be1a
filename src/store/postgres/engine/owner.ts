/** The facts that the parts of the store need to know about the ownership of endpoints. */
import type { RemoteChanges, OwnershipStore } from "../../store.ts";
import type { Queries } from "./database.ts";

export interface Owner extends OwnershipStore {
  ownsSlot(slot: number): boolean;
  /** The owned slots, for a query. Null means all of them. */
  readonly slots: readonly number[] | null;
  /**
   * Call it inside the transaction that made the changes. The nodes of these endpoints will be notified. Ignores
   * endpoints that this node owns.
   */
  notify(tx: Queries, changes: Partial<NotifiedChanges>): Promise<void>;
}

export interface NotifiedChanges extends RemoteChanges {
  /** Endpoints that were enabled, so that failures from before that no longer count. */
  readonly resumed: readonly string[];
}

export const NO_CHANGES = { waiting: [], requested: [], withdrawn: [], changed: [] } as const;
const EVERYTHING = { endpoints: "everything", holdsForMs: Number.POSITIVE_INFINITY } as const;

/** No other process has the store. */
export const OWNS_EVERYTHING: Owner = {
  owns: null,
  slots: null,
  ownsSlot: () => true,
  renew: async () => EVERYTHING,
  leave: async () => EVERYTHING,
  give: async () => {},
  remoteChanges: async () => NO_CHANGES,
  acknowledgeChanges: async () => {},
  untilNotified: async () => {},
  notify: async () => {},
  nodes: async () => [],
  drain: async () => false,
  stream: null,
  alerts: null,
  release: async () => {},
};
