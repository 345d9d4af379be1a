import { expect, it } from "vitest";
import type { Trigger } from "../../../../src/domain/deliveries/attempt.ts";
import { isOpen, type Claim, type Verdict } from "../../../../src/domain/deliveries/delivery.ts";
import { afterAttempt, answersRequest, type DeliveryState } from "../../../../src/domain/deliveries/record.ts";
import type { EndedAttempt, Store } from "../../../../src/store/store.ts";
import { Random } from "../../../sim/random.ts";
import { addEndpoint, answered, draft, dueNow, withoutCapacity, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const TRIGGERS: readonly Trigger[] = ["ladder", "replay", "manual", "test"];

/** Stores move most deliveries by a statement that does not read them first. It must do what the rule says. */
export function followsTheRule(openFresh: OpenFresh, seeds: readonly number[]): void {
  it.each(seeds)(
    "does to a delivery what the rule says, whatever attempts come in whatever order, seed %i",
    async (seed) => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      for (let round = 0; round < 4; round++) await follow(store, endpoint, new Random(100 * seed + round));
    },
  );
}

async function follow(store: Store, endpoint: string, random: Random): Promise<void> {
  const isFresh = random.chance(0.5);
  const [published] = await store.events.publish([draft()], START, isFresh ? withCapacity : withoutCapacity);
  const event = published!.id;
  const delivery = (await store.reads.getEvent(null, event))!.deliveries[0]!.id;
  let state: DeliveryState = {
    status: isFresh ? "fresh" : "waiting",
    attempts: 0,
    retry: 0,
    trigger: "ladder",
    dueAt: START,
  };
  let isRequested = false;
  for (let step = 0; step < 8; step++) {
    if (random.chance(0.2) && (isOpen(state.status) || state.status === "failed")) {
      await store.deliveries.requestAttempt(null, delivery, START);
      isRequested = true;
    }
    // A batch often has one attempt, and sometimes several of the same delivery.
    const attempts = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () =>
      attemptOf({ event, delivery, endpoint }, state, random),
    );
    const recorded = await store.deliveries.record(attempts);
    for (const [at, attempt] of attempts.entries()) {
      const after = afterAttempt(state, attempt);
      state = after.state;
      if (answersRequest(attempt)) isRequested = false;
      const waiting = state.status === "waiting" ? { endpoint, event, dueAt: state.dueAt } : null;
      expect(recorded[at]).toEqual({ result: after.result, waiting });
    }
    const view = (await store.reads.getEvent(null, event))!.deliveries[0]!;
    expect(view).toMatchObject({
      status: isOpen(state.status) ? "pending" : state.status,
      attempts: state.attempts,
      nextAttemptAt: isOpen(state.status) ? state.dueAt : null,
    });
    const due = (await dueNow(store, endpoint)).filter((claim) => claim.event === event);
    const { retry, trigger, dueAt } = state;
    const expected = { number: state.attempts + 1, retry, trigger, dueAt };
    expect(due).toMatchObject(state.status === "waiting" ? [expected] : []);
    const isFreshNow = (await store.deliveries.fresh(null, 500)).some((one) => one.event === event);
    expect(isFreshNow).toBe(state.status === "fresh");
    const requested = (await store.deliveries.requestedAttempts(null, 500)).some((one) => one.delivery === delivery);
    expect(requested).toBe(isRequested);
  }
}

/** Most attempts are the next one of the delivery. The others are late, or ahead of their time. */
function attemptOf(
  names: Pick<Claim, "event" | "delivery" | "endpoint">,
  { attempts, retry }: DeliveryState,
  random: Random,
): EndedAttempt {
  const claim: Claim = {
    ...names,
    body: Buffer.alloc(0),
    number: random.chance(0.6) ? attempts + 1 : random.between(1, attempts + 2),
    round: 1,
    retry: random.chance(0.8) ? retry : random.between(0, 3),
    trigger: random.chance(0.6) ? "ladder" : random.pick(TRIGGERS),
    fresh: false,
    dueAt: START,
  };
  const verdict = random.pick<Verdict>([
    { status: "delivered" },
    { status: "failed" },
    { status: "unchanged" },
    { status: "pending", retry: random.between(0, 3), dueAt: START + random.pick([0, 0.25, 1000]) },
    { status: "pending", retry: claim.retry + 1, dueAt: START + 30_000 },
  ]);
  const interrupted = { outcome: "interrupted", error: "interrupted" } as const;
  const outcome =
    verdict.status === "delivered"
      ? answered(200)
      : answered(503, verdict.status === "pending" && random.chance(0.4) ? interrupted : {});
  const startedAt = START + random.pick([0, 500, 5_000_000]);
  return { claim, url: "https://receiver.example/hook", startedAt, outcome, verdict, secretVersion: 1 };
}
