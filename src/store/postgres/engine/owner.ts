/** What the rooms of the store need to know of whose endpoints are. */
import type { News, OwnershipStore } from "../../store.ts";
import type { Queries } from "./database.ts";

export interface Owner extends OwnershipStore {
  ownsSlot(slot: number): boolean;
  /** Of slots, in a query; null for all of them. */
  readonly slots: readonly number[] | null;
  /** Inside the transaction that made it: the nodes of these endpoints will hear of it. What is this node's is left out. */
  tell(tx: Queries, told: Partial<Told>): Promise<void>;
}

export interface Told extends News {
  /** Endpoints that were enabled: how they fared before counts no more. */
  readonly resumed: readonly string[];
}

export const NO_NEWS = { waiting: [], requested: [], withdrawn: [], changed: [] } as const;
const EVERYTHING = { endpoints: "everything", holdsForMs: Number.POSITIVE_INFINITY } as const;

/** Nobody else has the store. */
export const OWNS_EVERYTHING: Owner = {
  owns: null,
  slots: null,
  ownsSlot: () => true,
  renew: async () => EVERYTHING,
  leave: async () => EVERYTHING,
  give: async () => {},
  news: async () => NO_NEWS,
  tookIn: async () => {},
  heard: async () => {},
  tell: async () => {},
  nodes: async () => [],
  drain: async () => false,
  stream: null,
  alerts: null,
  release: async () => {},
};
