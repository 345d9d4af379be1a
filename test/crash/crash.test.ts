import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { crash, losesNothing } from "./program.ts";

it("kill -9 on the real process loses nothing that was acked, and explains every duplicate", async () => {
  await losesNothing(2, 1);
});

it("kill -9 is red when the disk forgets what was acked, and keeps what happened", async () => {
  const { code, summary, stderr } = await crash("--rounds", "2", "--seed", "3", "--plant", "lose-acks");
  expect(code).toBe(1);
  expect(summary.acked_and_lost).toBeGreaterThan(0);
  expect(stderr).toContain("--seed 3");
  expect(readdirSync(summary.kept[0]!)).toEqual(expect.arrayContaining(["driver.jsonl", "receivers.jsonl"]));
});
