import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { List } from "../../tui/model/list.ts";
import {
  moveBy,
  newList,
  patchRows,
  readAnew,
  scrolled,
  takePage,
  wantedPage,
} from "../../tui/state/lists/paged-list.ts";

type Row = string;
const keyOf = (row: Row) => row;
const read = (list: List<Row>, page: number, rows: Row[], next: string | null) =>
  takePage(list, { page, rows, next, now: 0 }, keyOf);

describe("a list so sparse that several pages fill the screen", () => {
  const sparse = () => read(read(newList<Row>(), 0, ["8", "6"], "c1"), 1, ["4", "2"], "c2");

  it("takes in what is new at the top, and keeps what the new page did not look at", () => {
    expect(read(sparse(), 0, ["9", "8"], "c0").rows).toEqual(["9", "8", "6", "4", "2"]);
    expect(read(sparse(), 0, [], "c0")).toMatchObject({ rows: ["8", "6", "4", "2"], next: "c2" });
  });

  it("lets go of what does not match any more", () => {
    expect(read(sparse(), 0, ["9", "6"], "c0").rows).toEqual(["9", "6", "4", "2"]);
  });
});

/** Reads a list of `size` numbered rows from an API with pages, as the dashboard does. */
function fill(list: List<Row>, size: number, height: number): List<Row> {
  let now = scrolled(list, height);
  for (let turn = 0; turn < 500; turn++) {
    const page = wantedPage(now, height);
    if (page === null) return now;
    const cursor = now.pages[page]?.cursor ?? (page === 0 ? null : now.next);
    const start = Number(cursor ?? 0);
    const names = Array.from({ length: Math.min(10, size - start) }, (_, at) => at + start);
    const rows = names.map((at) => String(now.edge === "first" ? size - at : at + 1));
    const next = start + 10 < size ? String(start + 10) : null;
    now = scrolled(read(now, page, rows, next), height);
  }
  throw new Error("it never stops reading");
}

describe("a window on a list", () => {
  const steps = fc.array(
    fc.oneof(fc.integer({ min: -700, max: 700 }), fc.constantFrom("last" as const, "first" as const)),
    {
      maxLength: 30,
    },
  );

  it("has the row under the cursor that the whole list would have, wherever one goes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 30 }), steps, (size, height, steps) => {
        let list = fill(newList<Row>(), size, height);
        let at = 0;
        for (const step of steps) {
          if (typeof step === "number") {
            list = fill(moveBy(list, step, height, keyOf), size, height);
            at = Math.max(0, Math.min(size - 1, at + step));
          } else {
            list = fill({ ...readAnew(list, { edge: step, follow: false }), selected: null, index: 0 }, size, height);
            at = step === "first" ? 0 : size - 1;
          }
          expect(list.selected).toBe(String(size - at));
          expect(list.index - list.top).toBeGreaterThanOrEqual(0);
          expect(list.index - list.top).toBeLessThan(height);
          // The screen is full, unless there are too few rows.
          const shown = list.rows.slice(list.top, list.top + height);
          expect(shown).toHaveLength(Math.min(size, height));
          expect(list.rows.length).toBeLessThanOrEqual(1100);
          expect(new Set(list.rows).size).toBe(list.rows.length);
        }
      }),
    );
  });

  it("shows rows as they are now, in their places", () => {
    const list = fill(newList<{ id: string; v: number }>() as never, 20, 5) as unknown as List<Row>;
    expect(patchRows(list, ["unknown"], keyOf).rows).toEqual(list.rows);
    expect(patchRows(list, ["unknown"], keyOf, { added: true }).rows).toEqual([...list.rows, "unknown"]);
  });
});
