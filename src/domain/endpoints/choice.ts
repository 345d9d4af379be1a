/**
 * A choice decides which events an endpoint receives. Stores keep an endpoint's earlier choices as long as events that
 * they decided, so that `events/why.ts` can tell why one of those did not arrive.
 */
import type { FilterDocument } from "../events/filter/filter.ts";
import type { DisabledReason, WhenDisabled } from "./endpoint.ts";

export interface Choice {
  readonly events: readonly string[];
  readonly filter: FilterDocument | null;
  readonly enabled: boolean;
  readonly disabledReason: DisabledReason | null;
  readonly whenDisabled: WhenDisabled;
}

/** The change with which a choice began. A deleted endpoint keeps the choice that it had. */
export const CHOICE_CHANGES = ["registered", "changed", "deleted"] as const;
export type ChoiceChange = (typeof CHOICE_CHANGES)[number];

export interface KeptChoice extends Choice {
  readonly change: ChoiceChange;
  readonly at: number;
}

/** The choice of an endpoint that decided about one event. */
export type ChoiceThen =
  | {
      readonly known: "chosen";
      readonly choice: KeptChoice;
      /** The change after it, if the publish may have seen a part of that; null if changes and publishes take turns. */
      readonly next: KeptChoice | null;
    }
  /** The endpoint was registered after the event was published. */
  | { readonly known: "unregistered"; readonly registeredAt: number }
  /** The choice is not kept any more. */
  | { readonly known: "removed" };

/** The most choices that are kept of one endpoint, so that a caller who changes it in a loop cannot fill the disk. */
export const KEPT_CHOICES = 100;
