import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { NONE, Reads } from "../../src/portal/server/reads.ts";
import { partly } from "../harness/partly.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function counted() {
  const asked: string[] = [];
  const call = async (operation: string) => (asked.push(operation), { data: [] });
  const reads = new Reads(partly<Client>({ call: call as unknown as Client["call"] }), () => {});
  return { asked, reads };
}

it("reads once what two parts of a screen show, however late the second appears", async () => {
  const { asked, reads } = counted();
  const follow = () => reads.follow({ key: "types", about: NONE, patch: undefined }, "listEventTypes", {}, () => {});
  reads.streams();
  const first = follow();
  await vi.advanceTimersByTimeAsync(5000);
  const second = follow();
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toHaveLength(1);
  first();
  second();
  follow();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toHaveLength(2);
});

it("reads again what was read before the stream began, unless nothing in the stream concerns it", async () => {
  const { asked, reads } = counted();
  reads.follow({ key: "types", about: NONE, patch: undefined }, "listEventTypes", {}, () => {});
  reads.follow({ key: "list", about: null, patch: undefined }, "listEndpoints", {}, () => {});
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toEqual(["listEventTypes", "listEndpoints"]);
  await vi.advanceTimersByTimeAsync(1000);
  reads.streams();
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toEqual(["listEventTypes", "listEndpoints", "listEndpoints"]);
});
