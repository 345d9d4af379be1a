/**
 * The key that the page was opened with. It is in the fragment of the link, which no browser sends anywhere. It is
 * removed from the address bar at once, so that it is in no screenshot, bookmark or copied address.
 *
 * A link's key goes into sessionStorage, so that a reload does not end the session: the storage belongs to this tab,
 * and the key expires by itself. A key that does not expire, such as an operator may paste, stays in memory.
 */

const PLACE = "webhookd.key";
const KEY = /^#(whk_[A-Za-z0-9_-]+)$/;

/** Takes the key out of the address. `path` is the fragment that takes its place. */
export function takeKey(path = "#/"): string | null {
  const given = KEY.exec(location.hash)?.[1];
  if (given === undefined) return null;
  history.replaceState(null, "", `${location.pathname}${location.search}${path}`);
  return given;
}

/** Returns the key that a reload goes on with. */
export function keptKey(): string | null {
  try {
    return sessionStorage.getItem(PLACE);
  } catch {
    // If the browser forbids storage, a reload needs the link again.
    return null;
  }
}

export function keepKey(key: string): void {
  try {
    sessionStorage.setItem(PLACE, key);
  } catch {
    // See above.
  }
}

export function forgetKey(): void {
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // See above.
  }
}
