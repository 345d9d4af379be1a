/** Endpoints in words. */
import type { Endpoint, EndpointWithHealth } from "../../src/client/operations.ts";
import { ago, grouped } from "../output/words.ts";

/** `damaged`, `enabled`, or since when not and why. A daemon older than this command says nothing of damage. */
export function stateOf({ damaged, enabled, disabled_reason: reason, when_disabled: then }: Endpoint): string {
  if (damaged) return `damaged (${damaged.parts.join(", ")})`;
  if (enabled) return "enabled";
  return reason === null ? `disabled, ${then}` : `disabled, ${then} (${reason})`;
}

/** `ok`, or what is the matter: the word that tells it, then how much. Nothing is known of one that is gone. */
export function healthText(
  { damaged, enabled }: Pick<Endpoint, "damaged" | "enabled">,
  health: EndpointWithHealth["health"] | undefined,
  now: number,
): string {
  if (damaged) return "damaged";
  if (health === undefined) return "-";
  const { consecutive_failures: inARow, last_success_at: success, last_failure_at: last, held } = health;
  if (!enabled) return held === 0 ? "disabled" : `held ${grouped(held)}`;
  // To enable an endpoint counts its failures anew: it may have failed since it worked.
  const isWorking = success !== null && (last === null || Date.parse(success) >= Date.parse(last));
  if (inARow === 0) return isWorking ? "ok" : "untried";
  const since = success === null ? "never worked" : `worked ${ago(success, now)}`;
  return `failing ${grouped(inARow)}x; ${since}`;
}

/** The command that repairs what cannot be read. */
export function repairOf(id: string, parts: readonly EndpointPart[]): string {
  if (parts.some((part) => part.endsWith("signing_secret"))) return `webhookd doctor --repair-secret ${id}`;
  if (parts.includes("tenant")) return `webhookd endpoints rm ${id}, then add it again`;
  const flags = parts.map((part) => FLAGS[part]).filter((flag) => flag !== undefined);
  return `webhookd endpoints update ${id} ${flags.join(" ")}`;
}

type EndpointPart = NonNullable<Endpoint["damaged"]>["parts"][number];

/** How `endpoints update` gives them anew. */
const FLAGS: { readonly [P in EndpointPart]?: string } = {
  headers: "--headers-from FILE",
  url: "--to URL",
  events: "--events TYPES",
  metadata: "--metadata JSON",
  when_disabled: "--when-disabled hold",
  rate_per_second: "--rate none",
  max_in_flight: "--max-in-flight none",
};

/** How a field is said; what is not there is a dash. */
export function fieldText(value: unknown): string {
  if (value === null || value === "") return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(", ");
  if (typeof value === "object") return Object.keys(value as object).length === 0 ? "-" : JSON.stringify(value);
  return String(value);
}
