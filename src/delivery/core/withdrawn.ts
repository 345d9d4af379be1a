/** Deliveries are not to be sent any more, or not now: they were cancelled or erased, or memory gives them back. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { EventDelivery, Waiting } from "../../store/store.ts";
import type { Memory } from "../memory/memory.ts";
import { Effects } from "./effects.ts";
import { handOver, release } from "./hand-over.ts";

/** They were taken back. The answer is the endpoints whose deliveries the sender must give back, to be sifted. */
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

/** They are on the disk again, `waiting` there. Until now they were loaded: only a restart would read a fresh one. */
export function parked(memory: Memory, claims: readonly Claim[], waiting: readonly Waiting[]): Effects {
  const effects = new Effects();
  const { windows } = memory;
  for (const { endpoint, delivery } of claims) release(memory, endpoint, delivery, effects);
  // Where they wait on disk, which a clock that was set may have changed since they were read.
  for (const each of waiting) windows.noteWaiting(each);
  // With nothing on the wire, no end would have it read again.
  for (const endpoint of new Set(claims.map((claim) => claim.endpoint))) windows.plan(windows.of(endpoint));
  return effects;
}

/** The disk did not take them (it is full): they stay loaded, and take their turn again at the next tick. */
export function notParked(memory: Memory, claims: readonly Claim[]): void {
  memory.refused = [...memory.refused, ...claims];
}
