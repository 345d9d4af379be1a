import type { State } from "../model.ts";
import { selectedRow } from "./list.ts";
import { here } from "./places.ts";

/** The id that somebody on this screen wants to have; null where there is none. */
export function idHere(state: State): string | null {
  const place = here(state);
  switch (place.kind) {
    case "event":
      return place.id;
    case "events":
    case "endpoints":
      return selectedRow<{ readonly id: string }>(place.list as never)?.id ?? null;
    case "deliveries":
    case "endpoint":
      return selectedRow(place.list)?.event ?? null;
    case "failures":
      return selectedRow(place.list)?.endpoint ?? null;
    case "activity": {
      const row = selectedRow(place.list);
      return row === null ? null : "matched" in row ? row.id : row.object;
    }
  }
}
