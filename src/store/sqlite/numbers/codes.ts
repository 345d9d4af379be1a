/** Words that rows hold as small integers. The order is on disk: only ever add at the end. */
import type { Outcome, Trigger } from "../../../domain/attempt.ts";
import type { DeliveryStatus } from "../../../domain/delivery.ts";

export const FRESH = 0;
export const WAITING = 1;
export const DELIVERED = 2;
export const FAILED = 3;
export const CANCELLED = 4;

const STATUSES: readonly DeliveryStatus[] = ["pending", "pending", "delivered", "failed", "cancelled"];
const TRIGGERS: readonly Trigger[] = ["ladder", "replay", "manual", "test"];
const OUTCOMES: readonly Outcome["outcome"][] = ["succeeded", "failed", "interrupted"];

export const statusOf = (code: number): DeliveryStatus => STATUSES[code]!;
export const triggerCode = (trigger: Trigger): number => TRIGGERS.indexOf(trigger);
export const triggerOf = (code: number): Trigger => TRIGGERS[code]!;
export const outcomeCode = (outcome: Outcome["outcome"]): number => OUTCOMES.indexOf(outcome);
export const outcomeOf = (code: number): Outcome["outcome"] => OUTCOMES[code]!;
