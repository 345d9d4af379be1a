import { describe, expect, it } from "vitest";
import { abandoned, begun, completed, readable, type HeldSecrets } from "../../src/domain/endpoints/rotation.ts";

const NOW = 1000;
const LATER = { secret: "next", switchesAt: NOW + 1 };
const AT_ONCE = { secret: "next", switchesAt: NOW };
const OTHER = { secret: "other", switchesAt: NOW + 1 };

const alone: HeldSecrets = { current: "current", next: null };
const rotating: HeldSecrets = { current: "current", next: LATER };
const lost: HeldSecrets = { current: null, next: null };
const lostNext: HeldSecrets = { current: "current", next: { ...LATER, secret: null } };
const lostCurrent: HeldSecrets = { current: null, next: LATER };

describe("a rotation", () => {
  it.each([
    ["one secret", alone, { ...rotating }, { current: "next", next: null }, "not_rotating", "not_rotating"],
    ["two secrets", rotating, "rotation_in_progress", "rotation_in_progress", { current: "next", next: null }, alone],
    ["a lost secret", lost, "damaged", { current: "next", next: null }, "not_rotating", "not_rotating"],
    ["a lost next one", lostNext, "damaged", { current: "next", next: null }, "damaged", alone],
    [
      "a lost one before a next",
      lostCurrent,
      "damaged",
      { current: "next", next: null },
      { current: "next", next: null },
      "damaged",
    ],
  ])("of %s", (_, held, later, atOnce, complete, abandon) => {
    expect(
      begun(held, held.next === null || held.next.secret === null || held.current === null ? LATER : OTHER, NOW),
    ).toEqual(later);
    expect(begun(held, AT_ONCE, NOW)).toEqual(atOnce);
    expect(completed(held)).toEqual(complete);
    expect(abandoned(held)).toEqual(abandon);
  });

  it("can be read only if all of it can", () => {
    expect([alone, rotating, lost, lostNext, lostCurrent].map(readable)).toEqual([
      alone,
      rotating,
      "damaged",
      "damaged",
      "damaged",
    ]);
  });
});
