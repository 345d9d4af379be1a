import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { EndedAttempt } from "../../../src/store/store.ts";
import { SetAside } from "../../../src/store/files/spare-files.ts";
import { claim } from "../../harness/egress.ts";
import { delivered } from "../fixtures.ts";
import { temporaryDirectory } from "../stores.ts";

const attempt = (delivery: string): EndedAttempt => delivered(claim({ delivery }));
const deliveries = (aside: SetAside) => aside.attempts().map(({ claim: { delivery } }) => delivery);

it("results are set aside also behind one that a power cut has cut short", () => {
  const dir = temporaryDirectory();
  new SetAside(dir).add([attempt("dlv_01"), attempt("dlv_02")]);
  const file = join(dir, "DAMAGED");
  writeFileSync(file, readFileSync(file).subarray(0, -20));
  const next = new SetAside(dir);
  expect(deliveries(next)).toEqual(["dlv_01"]);
  next.add();
  next.add([attempt("dlv_03"), attempt("dlv_04")]);
  expect(next.remove()).toBe(false);
  expect(deliveries(next)).toEqual(["dlv_01", "dlv_03", "dlv_04"]);
  expect(next.remove()).toBe(true);
});
