/** The route within the page is the fragment, such as `#/ep_…/dlv_…`. */
import { useSyncExternalStore } from "react";

export function usePath(): readonly string[] {
  const hash = useSyncExternalStore(
    (listener) => {
      addEventListener("hashchange", listener);
      return () => removeEventListener("hashchange", listener);
    },
    () => location.hash,
  );
  return hash.replace(/^#\/?/, "").split("/").filter(Boolean);
}

export function go(path: string): void {
  location.hash = `#/${path}`;
}
