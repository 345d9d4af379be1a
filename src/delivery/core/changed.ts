/** What was handed over is to be sent otherwise, or not at all: an endpoint changed, or deliveries were withdrawn. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { EventDelivery } from "../../store/store.ts";
import type { KnownEndpoint } from "../memory/endpoints.ts";
import type { Memory } from "../memory/memory.ts";
import { Effects, handOver, release } from "./effects.ts";

/** The endpoint was looked up, and the sender knows it; null when there is no such endpoint any more. */
export function endpointKnown(memory: Memory, endpoint: string, target: KnownEndpoint | null): Effects {
  const effects = new Effects();
  // It may have gone to another node during the look-up: what is known of it now would be old when it comes back.
  const isElsewhere = memory.elsewhere?.(endpoint) === true;
  const waited = isElsewhere ? memory.endpoints.forget(endpoint) : memory.endpoints.known(endpoint, target);
  if (target === null) for (const { delivery } of waited) release(memory, endpoint, delivery, effects);
  else handOver(memory, waited, effects);
  return effects;
}

/** The store could not say; what waits for the endpoint is handed over again at the next tick. */
export function endpointUnknown(memory: Memory, endpoint: string): void {
  memory.refused = [...memory.refused, ...memory.endpoints.forget(endpoint)];
}

/** What the endpoint is owed may be read again, as far as it is due. */
export function endpointReadable({ windows }: Memory, endpoint: string): Effects {
  const effects = new Effects();
  const window = windows.of(endpoint);
  // What was held meanwhile comes first.
  if (window.nextDueAt < Number.POSITIVE_INFINITY) window.overflow();
  windows.plan(window);
  effects.readDue = true;
  return effects;
}

/** It goes to another node, which reads what it is owed. What is on the wire is recorded here. */
export function endpointLeft(memory: Memory, endpoint: string): Effects {
  const effects = new Effects();
  const window = memory.windows.of(endpoint);
  window.nextDueAt = Number.POSITIVE_INFINITY;
  memory.windows.plan(window);
  handOver(memory, memory.endpoints.forget(endpoint), effects);
  return effects;
}

/** It was deleted. `given`: deliveries of it that the sender gave back. */
export function endpointDropped(memory: Memory, endpoint: string, given: readonly string[]): Effects {
  const effects = new Effects();
  const window = memory.windows.of(endpoint);
  window.nextDueAt = Number.POSITIVE_INFINITY;
  memory.windows.plan(window);
  for (const { delivery } of memory.endpoints.forget(endpoint)) release(memory, endpoint, delivery, effects);
  for (const delivery of given) release(memory, endpoint, delivery, effects);
  return effects;
}

/** Deliveries were cancelled or erased. The answer is the endpoints whose deliveries the sender must give back, to be sifted. */
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

/** The sender gave these back, unstarted: what may still be sent takes its turn again. */
export function givenBack(memory: Memory, claims: readonly Claim[]): Effects {
  const effects = new Effects();
  handOver(memory, claims, effects);
  return effects;
}
