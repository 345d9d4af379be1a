import { expect, it } from "vitest";
import { JobRunner } from "../../src/jobs/runner.ts";
import type { JobEndpoint, JobStore, JobTake } from "../../src/store/store.ts";
import { ManualClock } from "../harness/clock.ts";

const PAGE = 500;

it("in one pass every endpoint of a job has its turn, however many pages of them there are", async () => {
  const owing: JobEndpoint[] = Array.from({ length: 2 * PAGE + 1 }, (_, at) => ({
    endpoint: `ep_${String(at).padStart(4, "0")}`,
    planned: 3,
    released: 0,
    delivered: 0,
  }));
  const taken: JobTake[] = [];
  const jobs: Partial<JobStore> = {
    open: async () => [{ id: "job_1", action: "replay", status: "running", ratePerSecond: 1, canary: false }],
    endpoints: async (_job, after) => owing.filter(({ endpoint }) => after === null || endpoint > after).slice(0, PAGE),
    step: async (_job, takes) => {
      taken.push(...takes);
      return { waiting: [], requested: [], withdrawn: [] };
    },
    close: () => expect.fail("something is left"),
  };
  const runner = new JobRunner({
    store: { jobs: jobs as JobStore },
    deliveries: { replayed() {}, attempt() {}, withdraw: async () => {} },
    clock: new ManualClock(),
    signal: new AbortController().signal,
  });
  await runner.run();
  expect(taken).toEqual(owing.map(({ endpoint }) => ({ endpoint, limit: 1, check: false })));
});
