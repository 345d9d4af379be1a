import type { Client } from "../../src/client/client.ts";
import type { EndpointWithHealth } from "../../src/client/operations.ts";

export function ago(instant: string, now: number): string {
  return `${span(Math.max(0, (now - Date.parse(instant)) / 1000))} ago`;
}

/** Returns `2m`, for columns too narrow for `2m 13s ago`. */
export function age(instant: string, now: number): string {
  return span(Math.max(0, (now - Date.parse(instant)) / 1000)).split(" ")[0]!;
}

/** Writes seconds in their two largest units. */
export function span(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "m"],
    [whole % 60, "s"],
  ] as const;
  const first = Math.max(
    0,
    parts.findIndex(([count]) => count > 0),
  );
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.length === 0 ? "0s" : shown.map(([count, unit]) => `${count}${unit}`).join(" ");
}

export { counted as count, sizeText as size } from "../../src/domain/wording.ts";

export function grouped(number: number): string {
  return number.toLocaleString("en-US");
}

/** Returns the host and path of a URL, without its user and query, which may be secrets. */
export function hostOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.host + parsed.pathname;
}

/** Limits the concurrent requests, because a list may be long. */
const ASKED_AT_ONCE = 32;

/** Fetches the endpoints by id. Endpoints that were deleted are left out. */
export async function endpointsOf(
  client: Client,
  named: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, EndpointWithHealth>> {
  const found = new Map<string, EndpointWithHealth>();
  const left = [...new Set(named.map(({ id }) => id))];
  const ask = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const endpoint = await client.call("getEndpoint", { id }).catch(() => null);
      if (endpoint !== null) found.set(id, endpoint);
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
  return found;
}

/** Fetches the host of each endpoint by id. Endpoints that were deleted are left out. */
export async function hostsOf(
  client: Client,
  deliveries: readonly { readonly endpoint: string }[],
): Promise<ReadonlyMap<string, string>> {
  const known = await endpointsOf(
    client,
    deliveries.map(({ endpoint: id }) => ({ id })),
  );
  return new Map([...known].map(([id, { url }]) => [id, hostOf(url)]));
}
