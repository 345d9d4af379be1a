/** Endpoints in words. */
import type { Endpoint } from "../../src/client/answers.ts";

/** `enabled`, or since when not and why. */
export function stateOf({ enabled, disabled_reason: reason, when_disabled: then }: Endpoint): string {
  if (enabled) return "enabled";
  return reason === null ? `disabled, ${then}` : `disabled, ${then} (${reason})`;
}

/** How a field is said; what is not there is a dash. */
export function fieldText(value: unknown): string {
  if (value === null || value === "") return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(", ");
  if (typeof value === "object") return Object.keys(value as object).length === 0 ? "-" : JSON.stringify(value);
  return String(value);
}
