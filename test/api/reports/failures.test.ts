import { expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const HOUR = 3_600_000;

it.each([
  ["10 minutes", HOUR / 6, 60],
  ["2 hours", 2 * HOUR, 300],
  ["a day", 24 * HOUR, 3600],
  ["a week", 7 * 24 * HOUR, 25_200],
  ["a week and a half", 10.5 * 24 * HOUR, 39_600],
])("failures of %s are shown in 24 steps of full minutes or hours", async (_, period, stepSeconds) => {
  const store = await aStore();
  const api = await ApiServer.start(store);
  await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] });
  api.clock.advance(7123);
  const now = api.clock.now();
  await anEvent(store, now, "failed");
  const since = new Date(now - period).toISOString();
  const { body } = await api.get(`/v1/webhooks/failures?since=${since}`);
  expect(body).toMatchObject({ since, step_seconds: stepSeconds, total: 1 });
  const [begins, stepMs] = [Date.parse(body.series_since), 1000 * stepSeconds];
  expect(begins % (stepMs < HOUR ? 60_000 : HOUR)).toBe(0);
  const ends = begins + 24 * stepMs;
  expect(ends - now).toBeGreaterThanOrEqual(0);
  expect(ends - now).toBeLessThan(Math.min(stepMs, HOUR));
  expect(body.data[0].series).toEqual([...Array(23).fill(0), 1]);
});
