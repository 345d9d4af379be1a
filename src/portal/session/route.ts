/**
 * The route within the page is the fragment, such as `#/ep_…?show=failed`. It holds the filters too, so that a link to
 * what somebody found can be copied, and a reload shows the same.
 */
import { useSyncExternalStore } from "react";

let shown = "#/";

/** The fragment of the screen. A link that is opened in this tab puts its key there for a moment. */
export function shownHash(): string {
  if (!location.hash.startsWith("#whk_")) shown = location.hash;
  return shown;
}

function useHash(): string {
  return useSyncExternalStore((listener) => {
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, shownHash);
}

function split(hash: string): readonly [path: string, query: string] {
  const at = hash.indexOf("?");
  return at < 0 ? [hash, ""] : [hash.slice(0, at), hash.slice(at + 1)];
}

export function usePath(): readonly string[] {
  const [path] = split(useHash());
  return path.replace(/^#\/?/, "").split("/").filter(Boolean);
}

/** The text of the filters in the address, and a function that sets some of them. Empty ones are left out. */
export function useFilters(): readonly [
  filters: URLSearchParams,
  set: (changes: Readonly<Record<string, string>>) => void,
] {
  const [, text] = split(useHash());
  return [new URLSearchParams(text), setFilters];
}

/** Changes the address as it is now: since something was typed, another filter may have been chosen. */
function setFilters(changes: Readonly<Record<string, string>>): void {
  const [path, query] = split(shownHash());
  const filters = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") filters.delete(name);
    else filters.set(name, value);
  }
  // Back leads to the screen before, and not through every letter that was typed.
  location.replace(filters.size === 0 ? path || "#/" : `${path || "#/"}?${String(filters)}`);
}

export function go(path: string): void {
  location.hash = `#/${path}`;
}
