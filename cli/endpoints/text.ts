import type { Endpoint, EndpointWithHealth } from "../../src/client/operations.ts";
import { standingOfEndpoint } from "../../src/client/standing.ts";
import { ago, count, grouped } from "../output/words.ts";

/**
 * Returns `damaged`, `enabled`, or `disabled` with the reason and what happens to its events. An older daemon does not
 * report damage.
 */
export function stateOf({ damaged, enabled, disabled_reason: reason, when_disabled: then }: Endpoint): string {
  if (damaged) return `damaged (${damaged.parts.join(", ")})`;
  if (enabled) return "enabled";
  return reason === null ? `disabled, ${then}` : `disabled, ${then} (${reason})`;
}

/** Returns `ok`, or the problem and its size. Returns `-` for an endpoint that was deleted. */
export function healthText(
  { damaged, enabled }: Pick<Endpoint, "damaged" | "enabled">,
  health: EndpointWithHealth["health"] | undefined,
  now: number,
): string {
  if (damaged) return "damaged";
  if (health === undefined) return "-";
  const { consecutive_failures: inARow, last_success_at: success, held, held_keys: keys } = health;
  if (!enabled) return held === 0 ? "disabled" : `held ${grouped(held)}`;
  // An older daemon does not report held keys.
  if (inARow === 0 && keys) return `${count(keys.count, "key", "keys")} held since ${ago(keys.since, now)}`;
  if (inARow === 0) return standingOfEndpoint({ damaged, enabled, health }) === "working" ? "ok" : "untried";
  const since = success === null ? "never worked" : `worked ${ago(success, now)}`;
  return `failing ${grouped(inARow)}x; ${since}`;
}

/** Returns the command that repairs the damaged parts. */
export function repairOf(id: string, parts: readonly EndpointPart[], tenant: string): string {
  if (parts.includes("signing_key")) return `webhookd signing-keys rotate --overlap 0s --tenant ${tenant}`;
  if (parts.some((part) => part.endsWith("signing_secret"))) return `webhookd doctor --repair-secret ${id}`;
  if (parts.includes("tenant")) return `webhookd endpoints rm ${id}, then add it again`;
  const flags = parts.map((part) => FLAGS[part]).filter((flag) => flag !== undefined);
  return `webhookd endpoints update ${id} ${flags.join(" ")}`;
}

type EndpointPart = NonNullable<Endpoint["damaged"]>["parts"][number];

/** Flags of `endpoints update` that replace a damaged part. */
const FLAGS: { readonly [P in EndpointPart]?: string } = {
  headers: "--headers-from FILE",
  auth: "--auth-from FILE",
  url: "--to URL",
  events: "--events TYPES",
  filter: "--filter none",
  metadata: "--metadata JSON",
  when_disabled: "--when-disabled hold",
  ordering: "--ordering none",
  after_failure: "--after-failure continue",
  format: "--format envelope",
  signatures: "--signatures hmac",
  rate_per_second: "--rate none",
  max_in_flight: "--max-in-flight none",
};

/** Formats a field. An empty value is a dash. */
export function fieldText(value: unknown): string {
  if (value === null || value === "") return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(", ");
  if (typeof value === "object") return Object.keys(value as object).length === 0 ? "-" : JSON.stringify(value);
  return String(value);
}
