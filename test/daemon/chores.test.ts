import { expect, it, onTestFinished, vi } from "vitest";
import type { Log } from "../../src/log.ts";
import { startSchedule } from "../../src/daemon/chores.ts";
import { partly } from "../harness/partly.ts";

it("runs each chore on time, never twice at once, and reports which failed", async () => {
  vi.useFakeTimers({ now: new Date("2026-11-20T09:55:00.500Z") });
  onTestFinished(() => void vi.useRealTimers());
  const error = vi.fn<Log["error"]>();
  const runs = { fails: 0, hangs: 0, "goes on": 0, later: 0 };
  const each = "* * * * * *";
  const schedule = startSchedule(
    [
      { name: "fails", pattern: each, run: () => Promise.reject(new Error(`no ${++runs.fails}`)) },
      { name: "hangs", pattern: each, run: () => (runs.hangs++, new Promise(() => {})) },
      { name: "goes on", pattern: each, run: () => void runs["goes on"]++ },
      { name: "later", pattern: "3 * * * * *", run: () => void runs.later++ },
    ],
    partly<Log>({ error }),
  );
  await vi.advanceTimersByTimeAsync(2600);
  expect(runs).toEqual({ fails: 3, hangs: 1, "goes on": 3, later: 1 });
  expect(error.mock.calls.map(([facts]) => facts)).toEqual(
    [1, 2, 3].map((n) => ({ err: new Error(`no ${n}`), chore: "fails" })),
  );
  schedule.stop();
  await vi.advanceTimersByTimeAsync(2000);
  expect(runs["goes on"]).toBe(3);
});
