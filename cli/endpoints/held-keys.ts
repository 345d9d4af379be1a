/** Says which ordering keys are held. */
import type { EndpointWithHealth } from "../../src/client/operations.ts";
import { ago, count } from "../output/words.ts";

export type HeldKeys = NonNullable<EndpointWithHealth["health"]["held_keys"]>;

export function heldKeysText({ count: keys, since, ordering_key: key, event }: HeldKeys, now: number): string {
  const oldest = keys === 1 ? key : `${count(keys, "key", "keys")}, the oldest is ${key}`;
  return `${oldest}: nothing of it is sent, because ${event} failed ${ago(since, now)}`;
}
