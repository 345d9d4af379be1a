/** The buttons that turn the pages of a list. */
import { useState } from "react";
import { useFilters } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { Button } from "./button.tsx";
import { t } from "../language/text.ts";

/** The cursors of the pages that led to this one. */
export type Cursors = readonly string[];

/** Another tenant and other filters begin at the first page. */
export function useCursors(): readonly [cursors: Cursors, set: (cursors: Cursors) => void] {
  const { tenant = "" } = useSession();
  const [filters] = useFilters();
  const list = `${tenant} ${String(filters)}`;
  const [place, setPlace] = useState({ list, cursors: [] as Cursors });
  return [place.list === list ? place.cursors : [], (cursors) => setPlace({ list, cursors })];
}

interface Props {
  readonly cursors: Cursors;
  readonly set: (cursors: Cursors) => void;
  /** The cursor of the next page. Null if this is the last one. */
  readonly next: string | null;
  readonly words?: readonly [before: string, after: string] | undefined;
}

export function Pages({ cursors, set, next, words: [before, after] = [t("pages.newer"), t("pages.older")] }: Props) {
  return (
    <nav className="pages" aria-label={t("pages.pages")}>
      {cursors.length > 0 && <Button onClick={() => set(cursors.slice(0, -1))}>{before}</Button>}
      {next !== null && <Button onClick={() => set([...cursors, next])}>{after}</Button>}
    </nav>
  );
}
