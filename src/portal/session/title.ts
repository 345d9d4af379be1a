/** The title of the document names the screen, for tabs, history and screen readers. */
import { useEffect } from "react";
import { nameOf } from "./dress.ts";
import { useSession } from "./session.ts";

export function useTitle(screen: string): void {
  const { portal } = useSession();
  useEffect(() => {
    document.title = `${screen} · ${nameOf(portal)}`;
  }, [screen, portal]);
}
