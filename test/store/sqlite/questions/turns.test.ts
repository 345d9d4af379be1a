import { expect, it } from "vitest";
import { Turns } from "../../../../src/store/sqlite/questions/questions.ts";

it("callers take turns, and each one's questions come in their order", () => {
  const turns = new Turns<string>();
  for (const task of ["a1", "a2", "a3"]) turns.add("a", task);
  turns.add("b", "b1");
  turns.add("c", "c1");
  const round = () => [turns.next(), turns.next(), turns.next()];
  expect(round()).toEqual(["a1", "b1", "c1"]);
  expect(round()).toEqual(["a1", "b1", "c1"]);
  turns.remove("a", "a1");
  expect(round()).toEqual(["a2", "b1", "c1"]);
  turns.remove("b", "b1");
  turns.remove("c", "c1");
  turns.remove("a", "a3");
  expect(round()).toEqual(["a2", "a2", "a2"]);
  turns.remove("a", "a2");
  expect(turns.next()).toBeUndefined();
});
