/** What memory has loaded goes to the sender, or back to the disk, or memory lets go of it. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { isDamaged } from "../../domain/endpoints/endpoint.ts";
import type { Memory } from "../memory/memory.ts";
import type { Effects } from "./effects.ts";

/** A failed delivery may have been replayed while its manual attempt was loaded: whatever waits is read again. */
const WHEREVER = 0;

/** To the sender what its endpoint may be sent now, to the disk what it may not; the rest waits for a look-up. */
export function handOver(memory: Memory, claims: readonly Claim[], effects: Effects): void {
  const { endpoints, withdrawn } = memory;
  for (const claim of claims) {
    if (withdrawn.size > 0 && withdrawn.has(claim.delivery)) letGo(memory, claim, effects);
    else if (endpoints.isOpen(claim.endpoint)) effects.send.push(claim);
    else handOverToClosed(memory, claim, effects);
  }
}

/** Memory lets go of a delivery: its attempt was recorded, or there will be none for now. */
export function release(memory: Memory, endpoint: string, delivery: string, effects: Effects): void {
  const { manual, watched, windows, withdrawn } = memory;
  windows.release(endpoint, delivery);
  if (withdrawn.size > 0) withdrawn.delete(delivery);
  if (watched.size > 0 && watched.delete(delivery)) effects.released.push(delivery);
  if (manual.owed.size > 0) effects.askFor.push(...manual.released(delivery));
}

/** A disabled endpoint is sent what was asked for all the same; a damaged one nothing. */
function handOverToClosed(memory: Memory, claim: Claim, effects: Effects): void {
  const { endpoint, trigger } = claim;
  const target = memory.endpoints.get(endpoint);
  if (target === undefined) {
    if (memory.endpoints.lookUp(endpoint)) effects.lookUp.push(endpoint);
    memory.endpoints.await(claim);
  } else if (!isDamaged(target) && (trigger === "test" || trigger === "manual")) effects.send.push(claim);
  else effects.park.push(claim);
}

function letGo(memory: Memory, { endpoint, delivery, event }: Claim, effects: Effects): void {
  const { windows } = memory;
  release(memory, endpoint, delivery, effects);
  windows.noteWaiting({ endpoint, event, dueAt: WHEREVER });
  windows.plan(windows.of(endpoint));
}
