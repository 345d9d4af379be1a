/**
 * Remembers whose link has ended, and where to get another. It stays in the tab, so that a reload does not forget it.
 */
import type { Portal } from "../../client/operations.ts";

export type Left = Pick<Portal, "tenant" | "endpoints" | "name" | "return_url" | "expires_at">;

const PLACE = "webhookd.left";

export function leftOf({ tenant, endpoints, name, return_url, expires_at }: Portal): Left {
  return { tenant, endpoints, name, return_url, expires_at };
}

export function keepLeft(left: Left): void {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(left));
  } catch {
    // If the browser forbids storage, a reload forgets it.
  }
}

export function readLeft(): Left | null {
  try {
    const text = sessionStorage.getItem(PLACE);
    return text === null ? null : (JSON.parse(text) as Left);
  } catch {
    return null;
  }
}

export function forgetLeft(): void {
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // See above.
  }
}
