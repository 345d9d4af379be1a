import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newId } from "../../../src/domain/id.ts";
import type { NewJob } from "../../../src/domain/deliveries/job.ts";
import type { JobQuery, JobTake, Publication, Store } from "../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  answered,
  brokenCapacity,
  delivered,
  draft,
  dueNow,
  ended,
  EVERYTHING,
  failed,
  publishOne,
  withCapacity,
  START,
  timedOut,
} from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

type Given = Partial<Omit<NewJob, "filter">> & { filter?: Partial<NewJob["filter"]> };

const ANY = { test: false, missing: false };

function newJob({ filter, ...more }: Given = {}): NewJob {
  return {
    id: newId("job", START, randomBytes(10)),
    tenant: "default",
    action: "replay",
    ratePerSecond: 20,
    canary: false,
    reason: "",
    ...more,
    filter: { ...ANY, ...filter },
  };
}

async function addJob(store: Store, given: Given = {}): Promise<string> {
  const added = await store.jobs.add(newJob(given), null, START);
  if (added.result !== "added") throw new Error(added.result);
  return added.job.id;
}

const take = (endpoint: string, limit: number, check = false): JobTake => ({ endpoint, limit, check });

async function publishMany(store: Store, count: number, more = {}): Promise<Publication[]> {
  const drafts = Array.from({ length: count }, () => draft(more));
  return store.events.publish(drafts, START, withCapacity);
}

/** Creates an endpoint with this many failed deliveries. */
async function withFailed(store: Store, count: number, more = {}): Promise<{ endpoint: string; events: string[] }> {
  const endpoint = await addEndpoint(store, more);
  const published = await publishMany(store, count);
  await store.deliveries.record(
    published.map(({ fresh }) => failed(fresh.find((claim) => claim.endpoint === endpoint)!)),
  );
  return { endpoint, events: published.map(({ id }) => id) };
}

const statusOf = async (store: Store, event: string) => (await store.reads.getEvent(null, event))!.status;

export function jobs(openFresh: OpenFresh): void {
  describe("jobs", () => {
    it("are listed by the endpoints that their filters name", async () => {
      const { store } = await openFresh();
      const [one, other] = [await addEndpoint(store), await addEndpoint(store)];
      const ofOne = await addJob(store, { filter: { endpoint: one } });
      const ofOther = await addJob(store, { filter: { endpoint: other } });
      await addJob(store);
      const listed = async (endpoints: readonly string[]) =>
        (await store.jobs.list({ ...EVERYTHING, endpoints })).data.map(({ id }) => id);
      expect([await listed([one]), await listed([one, other]), await listed(["ep_none"])]).toEqual([
        [ofOne],
        [ofOne, ofOther],
        [],
      ]);
    });

    it("are listed by an endpoint, also where their filters do not name it", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 1);
      const unconcerned = await addEndpoint(store);
      const wide = await addJob(store, { filter: { status: "failed" } });
      const named = await addJob(store, { filter: { endpoint: unconcerned } });
      const listed = async (of: string) =>
        (await store.jobs.list({ ...EVERYTHING, endpoint: of })).data.map(({ id }) => id);
      expect([await listed(endpoint), await listed(unconcerned), await listed("ep_none")]).toEqual([
        [wide],
        [named],
        [],
      ]);
    });

    it("are listed by status and action", async () => {
      const { store } = await openFresh();
      const [replay, cancelled] = [await addJob(store), await addJob(store)];
      const attempts = await addJob(store, { action: "attempt_now" });
      await store.jobs.steer(null, cancelled, "cancelled", START);
      const listed = async (query: Pick<JobQuery, "status" | "action">) =>
        (await store.jobs.list({ ...EVERYTHING, ...query })).data.map(({ id }) => id);
      expect(await listed({ status: "cancelled" })).toEqual([cancelled]);
      expect(await listed({ status: ["running", "paused"] })).toEqual([replay, attempts]);
      expect(await listed({ status: ["running"], action: "replay" })).toEqual([replay]);
    });

    it("are listed by whether they run or wait, too", async () => {
      const { store } = await openFresh();
      const [runs, waits, over] = [await addJob(store), await addJob(store), await addJob(store, { tenant: "other" })];
      const ofOther = await addJob(store, { tenant: "other" });
      await store.jobs.steer(null, waits, "paused", START);
      await store.jobs.steer(null, over, "cancelled", START);
      const listed = async (tenant: string | null, order: "oldest" | "newest") =>
        (await store.jobs.list({ tenant, limit: 2, order, isOpen: true })).data.map(({ id }) => id);
      expect(await listed("default", "newest")).toEqual([waits, runs]);
      expect(await listed("other", "oldest")).toEqual([ofOther]);
      expect(await listed(null, "newest")).toEqual([ofOther, waits]);
    });

    it("plan, by endpoint, what they would be about: what may have been handled, and what nobody can send", async () => {
      const { store } = await openFresh();
      const [a, b, c] = [await addEndpoint(store), await addEndpoint(store), await addEndpoint(store)];
      const published = await publishMany(store, 4);
      for (const { fresh } of published) {
        const [toA, toB, toC] = fresh;
        await store.deliveries.record([
          { ...failed(toA!), outcome: timedOut() },
          toB!.event === published[0]!.id ? failed(toB!) : delivered(toB!),
          failed(toC!),
        ]);
      }
      await store.endpoints.delete(null, c, START);
      const plan = await store.jobs.plan(newJob());
      expect(plan).toEqual({
        matched: 5,
        endpoints: [
          { endpoint: a, matched: 4, timedOut: 4 },
          { endpoint: b, matched: 1, timedOut: 0 },
        ],
        left: [{ endpoint: c, deliveries: 4, reason: "endpoint_deleted" }],
      });
      expect((await store.jobs.list(EVERYTHING)).data).toEqual([]);
    });

    it.each<[string, Given["filter"], number]>([
      ["nothing more", {}, 4],
      ["an error", { error: "timeout" }, 1],
      ["a class of codes", { statusCode: { least: 500, most: 599 } }, 3],
      ["a type", { type: "goal.achieved" }, 1],
      ["a type that nothing has", { type: "carbon.threshold" }, 0],
      ["a time", { since: START + 1000 }, 1],
      ["an end", { until: START + 1000 }, 3],
      ["test events", { test: true }, 1],
      ["delivered ones", { status: "delivered" }, 1],
    ])("replay what is found by %s", async (_, filter, count) => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { events: ["budget.exceeded", "goal.achieved"] });
      const plain = await publishMany(store, 3);
      const other = await publishOne(store, { type: "goal.achieved" }, START + 1000);
      const test = await publishOne(store, { testFor: endpoint });
      const [first, second, third] = plain.map(({ fresh }) => fresh[0]!);
      await store.deliveries.record([
        { ...failed(first!), outcome: timedOut() },
        failed(second!),
        failed(third!),
        failed(other.fresh[0]!),
        failed(test.fresh[0]!),
        delivered((await publishOne(store)).fresh[0]!),
      ]);
      for (const one of [{}, { endpoint }, { events: [...plain, other, test].map(({ id }) => id) }]) {
        if ("events" in one && filter?.status === "delivered") continue;
        const { matched } = await store.jobs.plan(newJob({ filter: { ...filter, ...one } }));
        expect(matched, JSON.stringify(one)).toBe(count);
      }
    });

    it("write their set down: what fails later is not in it", async () => {
      const { store } = await openFresh();
      const { endpoint, events } = await withFailed(store, 2);
      const job = await addJob(store);
      const later = await publishOne(store);
      await store.deliveries.record([failed(later.fresh[0]!)]);
      const { waiting } = await store.jobs.step(job, [take(endpoint, 500)], START);
      expect(waiting.map(({ event }) => event)).toEqual(events);
      expect(await statusOf(store, later.id)).toBe("failed");
    });

    it("make nothing when the set is of another size than expected", async () => {
      const { store } = await openFresh();
      await withFailed(store, 3);
      const job = newJob();
      expect(await store.jobs.add(job, 2, START)).toEqual({ result: "plan_changed", matched: 3 });
      expect(await store.jobs.get(null, job.id)).toBeNull();
      expect(await store.jobs.open()).toEqual([]);
      expect(await store.jobs.add(newJob(), 3, START)).toMatchObject({ result: "added" });
    });

    it("replay in steps, count each by its first attempt, and are done", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 3);
      const job = await addJob(store);
      expect(await store.jobs.endpoints(job, null)).toEqual([{ endpoint, planned: 3, released: 0, delivered: 0 }]);
      expect((await store.jobs.step(job, [take(endpoint, 2)], START)).waiting).toHaveLength(2);
      const [first, second] = await dueNow(store, endpoint);
      expect(first).toMatchObject({ trigger: "replay", round: 2, retry: 0, number: 2 });
      await store.deliveries.record([delivered(first!), again(second!, START + 30_000)]);
      expect(await store.jobs.close(job, START)).toBe(false);
      await store.jobs.step(job, [take(endpoint, 2)], START);
      const [third] = await dueNow(store, endpoint, START);
      await store.deliveries.record([
        ended(third!, { status: "pending", retry: 0, dueAt: START }, { outcome: interrupted() }),
      ]);
      expect(await store.jobs.close(job, START)).toBe(false);
      await store.deliveries.record([delivered((await dueNow(store, endpoint, START))[0]!)]);
      expect(await store.jobs.close(job, START + 5)).toBe(true);
      expect(await store.jobs.open()).toEqual([]);
      expect(await store.jobs.get("default", job)).toMatchObject({
        status: "done",
        matched: 3,
        done: 3,
        delivered: 2,
        failed: 1,
        skipped: 0,
        endedAt: START + 5,
        endpoints: [{ endpoint, matched: 3, done: 3, delivered: 2, failed: 1, skipped: 0 }],
      });
    });

    it("replay from the first rung, wherever the round before it ended", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await store.deliveries.record([again((await publishOne(store)).fresh[0]!, START + 30_000)]);
      await store.deliveries.record((await dueNow(store, endpoint)).map(failed));
      await store.jobs.step(await addJob(store), [take(endpoint, 1)], START + 60_000);
      const [claim] = await dueNow(store, endpoint);
      expect(claim).toMatchObject({ trigger: "replay", round: 2, retry: 0, number: 3 });
      await store.deliveries.record([again(claim!, START + 90_000)]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ trigger: "ladder", round: 2, retry: 1, number: 4 }]);
    });

    it("skip what no longer qualifies, and what will not be attempted for them any more", async () => {
      const { store } = await openFresh();
      const { endpoint, events } = await withFailed(store, 4);
      const job = await addJob(store);
      await store.events.replay(null, events[0]!, {}, START);
      await store.jobs.step(job, [take(endpoint, 2)], START);
      await store.events.cancel(null, events[1]!, null);
      await store.jobs.step(job, [take(endpoint, 0, true)], START);
      expect(await store.jobs.get(null, job)).toMatchObject({ matched: 4, done: 0, skipped: 2 });
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      await store.jobs.step(job, [take(endpoint, 2)], START);
      expect(await store.jobs.close(job, START)).toBe(true);
      expect(await store.jobs.get(null, job)).toMatchObject({ status: "done", done: 0, skipped: 4 });
      expect(await statusOf(store, events[2]!)).toBe("failed");
    });

    it("have each delivery attempted once, outside its ladder, and not before fresh events", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const published = await publishMany(store, 3);
      const due = START + 21_600_000;
      await store.deliveries.record(published.map(({ fresh }) => again(fresh[0]!, due)));
      const job = await addJob(store, { action: "attempt_now" });
      const { requested } = await store.jobs.step(job, [take(endpoint, 2)], START);
      expect(requested).toHaveLength(2);
      const claims = await Promise.all(requested.map(({ delivery }) => store.deliveries.requestedAttempt(delivery)));
      expect(claims).toMatchObject([
        { trigger: "manual", retry: 1, fresh: false },
        { trigger: "manual", retry: 1, fresh: false },
      ]);
      await store.deliveries.record([delivered(claims[0]!), ended(claims[1]!, { status: "unchanged" })]);
      expect(await store.jobs.get(null, job)).toMatchObject({ done: 2, delivered: 1, failed: 1 });
      const unharmed = await store.reads.getEvent(null, published[1]!.id);
      expect(unharmed!.deliveries).toMatchObject([{ status: "pending", retry: 1, nextAttemptAt: due, attempts: 2 }]);
    });

    it("cancel what is open, held or not", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const held = await addEndpoint(store, { enabled: false });
      const [waiting, fresh] = await publishMany(store, 2);
      await store.deliveries.record([again(waiting!.fresh[0]!, START + 1000)]);
      const only = newJob({ action: "cancel", filter: { status: "held" } });
      expect(await store.jobs.plan(only)).toMatchObject({ endpoints: [{ endpoint: held, matched: 2 }] });
      const job = await addJob(store, { action: "cancel" });
      const step = await store.jobs.step(job, [take(endpoint, 500), take(held, 500)], START);
      expect(step.withdrawn).toHaveLength(4);
      expect(await statusOf(store, fresh!.id)).toBe("cancelled");
      expect(await store.jobs.close(job, START)).toBe(true);
      expect(await store.jobs.get(null, job)).toMatchObject({ status: "done", matched: 4, done: 4, delivered: 0 });
    });

    it("back-fill an endpoint with the events of its types that it never had", async () => {
      const { store } = await openFresh();
      const early = await publishMany(store, 2);
      const other = await publishOne(store, { type: "goal.achieved" });
      await publishOne(store, { tenant: "other" });
      const endpoint = await addEndpoint(store);
      const had = await publishOne(store);
      const job = await addJob(store, { filter: { missing: true, endpoint } });
      expect(await statusOf(store, early[0]!.id)).toBe("unmatched");
      const { waiting } = await store.jobs.step(job, [take(endpoint, 500)], START);
      expect(waiting.map(({ event }) => event)).toEqual(early.map(({ id }) => id));
      expect(await statusOf(store, early[0]!.id)).toBe("pending");
      expect(
        (await store.reads.listEvents({ ...EVERYTHING, status: "unmatched", tenant: "default" })).data,
      ).toMatchObject([{ id: other.id }]);
      const claims = await dueNow(store, endpoint);
      expect(claims).toMatchObject([
        { event: early[0]!.id, number: 1, trigger: "replay" },
        { event: early[1]!.id, number: 1, trigger: "replay" },
      ]);
      await store.deliveries.record([...claims, had.fresh[0]!].map(delivered));
      expect(await store.jobs.get(null, job)).toMatchObject({ matched: 2, delivered: 2 });
    });

    it("back-fill all of a gap in the middle of what an endpoint had", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { whenDisabled: "skip" });
      await publishMany(store, 10);
      const set = (enabled: boolean) =>
        store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), START);
      await set(false);
      const gap = await publishMany(store, 600);
      await set(true);
      await publishMany(store, 10);
      const filter = { missing: true, endpoint };
      expect(await store.jobs.plan(newJob({ filter }))).toMatchObject({ endpoints: [{ endpoint, matched: 600 }] });
      const job = await addJob(store, { filter });
      const sent: string[] = [];
      for (let step = 0; step < 2; step++) {
        const { waiting } = await store.jobs.step(job, [take(endpoint, 500)], START);
        sent.push(...waiting.map(({ event }) => event));
      }
      expect(sent).toEqual(gap.map(({ id }) => id));
    });

    it("pause themselves when a canary fails, and go on from there", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 3);
      const job = await addJob(store, { canary: true });
      await store.jobs.step(job, [take(endpoint, 1)], START);
      const [first] = await dueNow(store, endpoint);
      await store.deliveries.record([again(first!, START + 30_000)]);
      expect(await store.jobs.get(null, job)).toMatchObject({
        status: "paused",
        pausedReason: `the canary to ${endpoint} failed: the receiver answered 503`,
        failed: 1,
      });
      expect(await store.jobs.open()).toEqual([]);
      expect(await store.jobs.step(job, [take(endpoint, 1)], START)).toMatchObject({ waiting: [] });
      const undecided = { status: "paused", pausedReason: expect.stringContaining("answered 503") };
      expect(await store.jobs.steer(null, job, "running", START)).toMatchObject(undecided);
      expect(await store.jobs.open()).toEqual([]);
      const resumed = { status: "running", pausedReason: null, canary: true };
      expect(await store.jobs.steer(null, job, "running", START, "canary")).toMatchObject(resumed);
      await store.jobs.step(job, [take(endpoint, 2)], START);
      const [second, third] = await dueNow(store, endpoint, START);
      await store.deliveries.record([delivered(second!), again(third!, START + 30_000)]);
      expect(await store.jobs.get(null, job)).toMatchObject({ status: "running", done: 3, delivered: 1, failed: 2 });
    });

    it("go on without a canary when that is said, also where the next one fails", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 3);
      const job = await addJob(store, { canary: true });
      await store.jobs.step(job, [take(endpoint, 1)], START);
      const [first] = await dueNow(store, endpoint);
      await store.deliveries.record([again(first!, START + 30_000)]);
      const resumed = { status: "running", pausedReason: null, canary: false };
      expect(await store.jobs.steer(null, job, "running", START, "send_all")).toMatchObject(resumed);
      expect(await store.jobs.open()).toMatchObject([{ id: job, canary: false }]);
      await store.jobs.step(job, [take(endpoint, 2)], START);
      const left = await dueNow(store, endpoint, START);
      await store.deliveries.record(left.map((one) => again(one, START + 30_000)));
      expect(await store.jobs.get(null, job)).toMatchObject({ status: "running", failed: 3 });
    });

    it("that an operator paused go on as they were, whatever is said of a canary", async () => {
      const { store } = await openFresh();
      await withFailed(store, 3);
      const job = await addJob(store, { canary: true });
      await store.jobs.steer(null, job, "paused", START);
      expect(await store.jobs.steer(null, job, "running", START, "send_all")).toMatchObject({ canary: true });
      await store.jobs.steer(null, job, "paused", START);
      expect(await store.jobs.steer(null, job, "running", START)).toMatchObject({ status: "running", canary: true });
    });

    it("end when they are cancelled, with what they asked for and nobody began", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const published = await publishMany(store, 2);
      await store.deliveries.record(published.map(({ fresh }) => again(fresh[0]!, START + 1000)));
      const job = await addJob(store, { action: "attempt_now" });
      const { requested } = await store.jobs.step(job, [take(endpoint, 1)], START);
      expect(await store.jobs.steer("other", job, "cancelled", START)).toBeNull();
      expect(await store.jobs.steer("default", job, "cancelled", START)).toMatchObject({ status: "cancelled" });
      expect(await store.jobs.open()).toMatchObject([{ id: job, status: "cancelled" }]);
      expect(await store.jobs.close(job, START)).toBe(true);
      expect(await store.jobs.open()).toEqual([]);
      expect(await store.deliveries.requestedAttempt(requested[0]!.delivery)).toBeNull();
      expect(await store.jobs.steer(null, job, "running", START)).toMatchObject({
        status: "cancelled",
        endedAt: START,
      });
    });

    it("count an attempt whose commit was undone by somebody else's and made again", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 1);
      const job = await addJob(store);
      await store.jobs.step(job, [take(endpoint, 1)], START);
      const [claim] = await dueNow(store, endpoint);
      const { fresh } = await publishOne(store);
      // The second record checks for released deliveries after the first has ended them all.
      await Promise.all([
        store.deliveries.record([delivered(claim!)]),
        store.deliveries.record([delivered(fresh[0]!)]),
        expect(store.events.publish([draft()], START, brokenCapacity("undone"))).rejects.toThrow("undone"),
      ]);
      expect(await store.jobs.get(null, job)).toMatchObject({ done: 1, delivered: 1 });
    });

    it("leave what an operator asked for when they are cancelled, whatever they do and whoever came first", async () => {
      const { store } = await openFresh();
      const asked = async (action: NewJob["action"], isFirst: boolean): Promise<unknown> => {
        const { endpoint, events } = await withFailed(store, 2);
        const views = await Promise.all(events.map((event) => store.reads.getEvent(null, event)));
        const [mine, theirs] = views.map((event) => event!.deliveries.find((one) => one.endpoint === endpoint)!.id);
        const job = await addJob(store, { action, filter: { endpoint, status: "failed" } });
        if (isFirst) await store.deliveries.requestAttempt(null, mine!, START);
        await store.jobs.step(job, [take(endpoint, 2)], START);
        if (!isFirst) await store.deliveries.requestAttempt(null, mine!, START);
        await store.jobs.steer(null, job, "cancelled", START);
        await store.jobs.close(job, START);
        const left = await Promise.all([mine!, theirs!].map((id) => store.deliveries.requestedAttempt(id)));
        return left.map((claim) => claim?.trigger ?? null);
      };
      expect([
        await asked("replay", true),
        await asked("replay", false),
        await asked("attempt_now", true),
        await asked("attempt_now", false),
      ]).toEqual(Array.from({ length: 4 }, () => ["manual", null]));
    });

    it("leave what another job asked for when they are cancelled", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 1);
      const all = { action: "attempt_now", filter: { status: "failed" } } as const;
      const jobs = [await addJob(store, all), await addJob(store, all)];
      let delivery = "";
      for (const job of jobs)
        delivery = (await store.jobs.step(job, [take(endpoint, 1)], START)).requested[0]!.delivery;
      const end = async (job: string) => {
        await store.jobs.steer(null, job, "cancelled", START);
        await store.jobs.close(job, START);
        return (await store.deliveries.requestedAttempt(delivery))?.trigger ?? null;
      };
      expect([await end(jobs[0]!), await end(jobs[1]!)]).toEqual(["manual", null]);
    });

    it("take no more than 500 rows at once, however many there are", async () => {
      const { store } = await openFresh();
      const { endpoint } = await withFailed(store, 1100);
      let added = false;
      const adding = addJob(store).finally(() => (added = true));
      await publishOne(store);
      expect(added).toBe(false);
      const job = await adding;
      expect(await store.jobs.get(null, job)).toMatchObject({ matched: 1100 });
      expect((await store.jobs.step(job, [take(endpoint, 500)], START)).waiting).toHaveLength(500);
      await store.jobs.steer(null, job, "cancelled", START);
      const closed = [
        await store.jobs.close(job, START),
        await store.jobs.close(job, START),
        await store.jobs.close(job, START),
      ];
      expect(closed).toEqual([false, false, true]);
    });

    it("are as they were after a crash, and a set that was being written is gone", async () => {
      const harness = await openFresh();
      const { endpoint, events } = await withFailed(harness.store, 600);
      const job = await addJob(harness.store);
      await harness.store.jobs.step(job, [take(endpoint, 2)], START);
      const written = harness.store.jobs.add(newJob(), null, START);
      let store = await harness.crash();
      await written;
      expect(await store.jobs.open()).toMatchObject([{ id: job, status: "running" }]);
      await store.deliveries.record((await dueNow(store, endpoint)).map(delivered));
      const { waiting } = await store.jobs.step(job, [take(endpoint, 500)], START);
      expect(waiting.map(({ event }) => event)).toEqual(events.slice(2, 502));
      store = await harness.reopen();
      expect(await store.jobs.get(null, job)).toMatchObject({ matched: 600, delivered: 2 });
      expect((await store.jobs.list(EVERYTHING)).data).toHaveLength(1);
    });

    it("show a tenant its own", async () => {
      const { store } = await openFresh();
      const [mine, all] = [await addJob(store), await addJob(store, { tenant: null })];
      expect((await store.jobs.list(EVERYTHING)).data.map(({ id }) => id)).toEqual([mine, all]);
      const own = await store.jobs.list({ ...EVERYTHING, tenant: "default", order: "newest" });
      expect(own.data).toMatchObject([{ id: mine, tenant: "default", status: "running", matched: 0 }]);
      expect(await store.jobs.get("default", all)).toBeNull();
    });
  });
}

export function jobsOfMany(openFresh: OpenFresh): void {
  describe("large jobs", () => {
    it("are pruned once they ended before an instant, with what they came to, in steps of 500 rows", async () => {
      const { store } = await openFresh();
      const endpoints = await Promise.all(Array.from({ length: 600 }, () => addEndpoint(store)));
      const published = await publishMany(store, 1);
      await store.deliveries.record(published[0]!.fresh.map(failed));
      const wide = await addJob(store);
      await store.jobs.steer(null, wide, "cancelled", START);
      for (let over = false; !over;) over = await store.jobs.close(wide, START);
      const [young, cancelled, running] = [await addJob(store), await addJob(store), await addJob(store)];
      await store.jobs.steer(null, young, "cancelled", START + 1000);
      for (let over = false; !over;) over = await store.jobs.close(young, START + 1000);
      await store.jobs.steer(null, cancelled, "cancelled", START);

      expect(await store.jobs.prune(START, null)).toEqual({ pruned: 0, next: null });
      const first = await store.jobs.prune(START + 1, null);
      expect(first).toEqual({ pruned: 0, next: expect.any(String) });
      expect(await store.jobs.get(null, wide)).toMatchObject({ id: wide, matched: 100 });
      expect(await store.jobs.prune(START + 1, first.next)).toEqual({ pruned: 1, next: null });
      expect(await store.jobs.get(null, wide)).toBeNull();
      // One job has ended too recently, one has not dropped its set yet, and one is running.
      const left = (await store.jobs.list(EVERYTHING)).data.map(({ id, matched }) => [id, matched]);
      expect(left).toEqual([young, cancelled, running].map((id) => [id, endpoints.length]));
    });
  });
}

const interrupted = () => ({ ...answered(503), outcome: "interrupted" as const, error: "interrupted" as const });
