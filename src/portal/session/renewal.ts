/**
 * Hands the key of a new link to the other tabs of this browser whose link has ended, or is about to: whoever was filling
 * in a form there opens a new link in another tab, and goes on where they were. Only pages of this daemon hear it.
 */
import { useCallback, useEffect, useRef } from "react";
import type { Portal } from "../../client/operations.ts";
import { now } from "../server/clock.ts";
import type { Left } from "./left.ts";

/** The page warns this long before a link ends. */
export const SOON_MS = 5 * 60_000;

/** A link of the same scope goes on with the same screens. */
export function scopeOf({ tenant, endpoints }: Pick<Portal, "tenant" | "endpoints">): string {
  return `${tenant} ${endpoints?.toSorted().join() ?? "*"}`;
}

interface Message extends Pick<Portal, "tenant" | "endpoints" | "expires_at"> {
  readonly key: string;
}

type Needy = { readonly portal: Portal; readonly hasEnded: boolean } | { readonly left: Left } | null;

/** `tell` hands a key over. `open` is called with a key from another tab, if this one needs it. */
export function useHandedKeys(open: (key: string) => void, needy: Needy): (key: string) => void {
  const latest = useRef(needy);
  latest.current = needy;
  const channel = useRef<BroadcastChannel>(undefined);
  useEffect(() => {
    const made = new BroadcastChannel("webhookd.portal");
    channel.current = made;
    made.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if (needs(latest.current, data)) open(data.key);
    });
    return () => made.close();
  }, [open]);
  return useCallback((key: string) => {
    const { current } = latest;
    if (current === null || !("portal" in current)) return;
    const { tenant, endpoints, expires_at } = current.portal;
    channel.current?.postMessage({ tenant, endpoints, expires_at, key } satisfies Message);
  }, []);
}

function needs(needy: Needy, message: Message): boolean {
  if (needy === null || typeof message.key !== "string") return false;
  if ("left" in needy) return scopeOf(needy.left) === scopeOf(message);
  const { portal, hasEnded } = needy;
  if (scopeOf(portal) !== scopeOf(message)) return false;
  if (hasEnded) return true;
  if (portal.expires_at === null || message.expires_at === null) return false;
  const ends = Date.parse(portal.expires_at);
  // Without the second condition, two tabs would swap their keys for ever.
  return ends - now() < SOON_MS && Date.parse(message.expires_at) > ends;
}
