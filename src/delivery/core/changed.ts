/** Takes in changes to what was already handed over: an endpoint changed, or deliveries were withdrawn. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { EventDelivery } from "../../store/store.ts";
import type { KnownEndpoint } from "../memory/endpoints.ts";
import type { Memory } from "../memory/memory.ts";
import { Effects, handOver, release } from "./effects.ts";

/** The endpoint was looked up, and the sender knows it. `target` is null if the endpoint no longer exists. */
export function endpointKnown(memory: Memory, endpoint: string, target: KnownEndpoint | null): Effects {
  const effects = new Effects();
  // The endpoint may have moved to another node during the look-up. Its settings would be out of date when it comes
  // back.
  const isElsewhere = memory.elsewhere?.(endpoint) === true;
  const waited = isElsewhere ? memory.endpoints.forget(endpoint) : memory.endpoints.known(endpoint, target);
  if (target === null) for (const { delivery } of waited) release(memory, endpoint, delivery, effects);
  else handOver(memory, waited, effects);
  return effects;
}

/** The store could not answer. The next tick again hands over what waits for the endpoint. */
export function endpointUnknown(memory: Memory, endpoint: string): void {
  memory.refused = [...memory.refused, ...memory.endpoints.forget(endpoint)];
}

/** The endpoint's due deliveries may be read again. */
export function endpointReadable({ windows }: Memory, endpoint: string): Effects {
  const effects = new Effects();
  const window = windows.of(endpoint);
  // First read what was held in the meantime.
  if (window.nextDueAt < Number.POSITIVE_INFINITY) window.overflow();
  windows.plan(window);
  effects.readDue = true;
  return effects;
}

/**
 * The endpoint goes to another node, which reads its deliveries from disk. Attempts on the wire are still recorded
 * here.
 */
export function endpointLeft(memory: Memory, endpoint: string): Effects {
  const effects = new Effects();
  const window = memory.windows.of(endpoint);
  window.nextDueAt = Number.POSITIVE_INFINITY;
  memory.windows.plan(window);
  handOver(memory, memory.endpoints.forget(endpoint), effects);
  return effects;
}

/** The endpoint was deleted. `given` are the deliveries that the sender gave back. */
export function endpointDropped(memory: Memory, endpoint: string, given: readonly string[]): Effects {
  const effects = new Effects();
  const window = memory.windows.of(endpoint);
  window.nextDueAt = Number.POSITIVE_INFINITY;
  memory.windows.plan(window);
  for (const { delivery } of memory.endpoints.forget(endpoint)) release(memory, endpoint, delivery, effects);
  for (const delivery of given) release(memory, endpoint, delivery, effects);
  return effects;
}

/**
 * Deliveries were cancelled or erased. Returns the endpoints for which the sender must give back deliveries, to be
 * sifted.
 */
export function withdrawn(memory: Memory, deliveries: readonly EventDelivery[]): ReadonlySet<string> {
  const endpoints = new Set<string>();
  for (const { endpoint, delivery } of deliveries) {
    if (memory.windows.find(endpoint, delivery) === undefined) memory.windows.release(endpoint, delivery);
    else {
      memory.withdrawn.add(delivery);
      endpoints.add(endpoint);
    }
  }
  return endpoints;
}

/** The sender gave these claims back unstarted. The claims that may still be sent are handed over again. */
export function givenBack(memory: Memory, claims: readonly Claim[]): Effects {
  const effects = new Effects();
  handOver(memory, claims, effects);
  return effects;
}
