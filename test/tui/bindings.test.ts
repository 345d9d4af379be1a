import { expect, it } from "vitest";
import { BINDINGS } from "../../tui/keys/table.ts";

it("no key does two things in one place", () => {
  const places = new Set(BINDINGS.flatMap(({ on }) => on ?? []));
  const doubled = [...places].flatMap((place) => {
    const keys = BINDINGS.filter(({ on }) => on === undefined || on.includes(place)).flatMap((one) => one.keys);
    return keys.filter((key, at) => keys.indexOf(key) !== at).map((key) => `${key} in ${place}`);
  });
  expect(doubled).toEqual([]);
});
