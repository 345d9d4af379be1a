/** The contract for the event types that operators keep in the store, in addition to those of the configuration. */
import type { StoredType } from "../../domain/events/catalogue.ts";

export interface EventTypeStore {
  /**
   * Returns how often types have changed, on whatever node. The call is cheap, because a node asks each second whether
   * another node has changed one.
   */
  revision(): Promise<number>;
  list(): Promise<StoredTypes>;
  /**
   * Replaces each type with what `change` returns, or adds it: all of them, or none, if `change` throws an error, with
   * which this rejects. `change` must be pure, because it may run twice. The revision stays if all types were the same
   * before. Rejects with `event_type_limit` for new types where there are too many. No name may occur twice.
   */
  put(names: readonly string[], change: TypeChange): Promise<PutTypes>;
  /**
   * Deletes the type and returns the revision, or null if there is no such type. Rejects with `event_type_in_use` if an
   * endpoint chose it by its name, or an event of it is kept. An endpoint that is registered or changed at the same
   * time cannot choose it: that rejects with `validation_failed`.
   */
  delete(name: string, now: number): Promise<number | null>;
  /** Lets endpoints choose deleted types of these names again, because the configuration has them now. */
  revive(names: readonly string[]): Promise<void>;
}

export interface StoredTypes {
  readonly revision: number;
  readonly types: readonly StoredType[];
  /** The names of types that were deleted in the last day or so. */
  readonly deleted: readonly string[];
}

export type TypeChange = (before: StoredType | null, name: string) => StoredType;

export interface PutTypes {
  /** In the order of the names. */
  readonly types: readonly PutType[];
  readonly revision: number;
}

export interface PutType {
  /** Null if the type is new. */
  readonly before: StoredType | null;
  readonly type: StoredType;
}
