/** Shows a short notice after an action, at the edge of the screen and to screen readers. */
import { createContext, use, useCallback, useEffect, useState, type ReactNode } from "react";
import { after } from "../server/clock.ts";

type Say = (text: string) => void;
const NoticeContext = createContext<Say>(() => {});
const SHOWN_MS = 5000;

export function useNotice(): Say {
  return use(NoticeContext);
}

export function Notices({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState<{ readonly text: string } | null>(null);
  const say = useCallback((text: string) => setSaid({ text }), []);
  useEffect(() => (said === null ? undefined : after(SHOWN_MS, () => setSaid(null))), [said]);
  return (
    <NoticeContext value={say}>
      {children}
      <div className="notices" role="status">
        {said !== null && <p dir="auto">{said.text}</p>}
      </div>
    </NoticeContext>
  );
}
