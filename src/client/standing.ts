/** Finds the state of an endpoint in the daemon's response about it. */
import { standingOf, type Standing } from "../domain/endpoints/standing.ts";
import type { EndpointWithHealth } from "./operations.ts";

export function standingOfEndpoint({
  damaged,
  enabled,
  health,
}: Pick<EndpointWithHealth, "damaged" | "enabled" | "health">): Standing {
  const at = (instant: string | null) => (instant === null ? null : Date.parse(instant));
  return standingOf({
    isDamaged: Boolean(damaged),
    isEnabled: enabled,
    failuresInARow: health.consecutive_failures,
    lastSuccessAt: at(health.last_success_at),
    lastFailureAt: at(health.last_failure_at),
  });
}
