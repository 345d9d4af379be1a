import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { giveBackMemory } from "../../src/native.ts";
import { MemoryWatch } from "../../src/upkeep/watches.ts";
import { temporaryDirectory } from "../store/stores.ts";

it("is given back when a process rests after it has done something, and not again until it has done more", () => {
  let [cpu, given] = [0, 0];
  const watch = new MemoryWatch({ cpuMs: () => cpu, giveBack: () => given++ });
  const after = (spent: number) => {
    cpu += spent;
    watch.run();
    return given;
  };
  // A start, a quiet minute, two busy minutes and the quiet ones after them. The next line is an occasional request.
  expect([250, 10, 5000, 5000, 10, 10, 10].map(after)).toEqual([1, 1, 1, 1, 2, 2, 2]);
  expect([100, 100, 100, 100, 100].map(after)).toEqual([2, 2, 3, 3, 3]);
});

it.runIf(process.platform === "linux")("is what a start needed of Node's own code, and the process goes on", () => {
  const resident = () => {
    const code = readFileSync("/proc/self/smaps", "utf8")
      .split(/\n(?=[0-9a-f]+-)/)
      .filter((mapping) => mapping.includes(" r-xp ") && mapping.includes(process.execPath));
    return code.reduce((sum, mapping) => sum + Number(/^Rss: +(\d+) kB/m.exec(mapping)![1]), 0) / 1024;
  };
  const before = resident();
  giveBackMemory(temporaryDirectory());
  expect(before - resident()).toBeGreaterThan(5);
  expect(JSON.parse(JSON.stringify(new Intl.DateTimeFormat("en", { timeZone: "UTC" }).resolvedOptions()))).toBeTruthy();
});
