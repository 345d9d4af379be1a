/** The route within the page is the fragment, such as `#/ep_…/dlv_…`. */
import { useSyncExternalStore } from "react";

let shown = "#/";

/** The fragment of the screen. A link that is opened in this tab puts its key there for a moment. */
export function shownHash(): string {
  if (!location.hash.startsWith("#whk_")) shown = location.hash;
  return shown;
}

export function usePath(): readonly string[] {
  const hash = useSyncExternalStore((listener) => {
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, shownHash);
  return hash.replace(/^#\/?/, "").split("/").filter(Boolean);
}

export function go(path: string): void {
  location.hash = `#/${path}`;
}
