import { describe, expect, it } from "vitest";
import type { KeptChoice } from "../../src/domain/endpoints/choice.ts";
import {
  AHEAD_LIMIT,
  REASON_CODES,
  reasonOf,
  sentenceOf,
  type WhyDelivery,
  type WhyFacts,
  type WhyNow,
} from "../../src/domain/events/why.ts";

const START = Date.parse("2026-11-20T09:55:00.000Z");
const NOW: WhyNow = { now: START + 1000, halted: null };

const CHOICE: KeptChoice = {
  change: "registered",
  at: START - 1000,
  events: ["budget.*", "goal.achieved"],
  filter: null,
  enabled: true,
  disabledReason: null,
  whenDisabled: "hold",
};

const EVENT: WhyFacts["event"] = {
  type: "budget.exceeded",
  tenant: "default",
  receivedAt: START,
  test: false,
  data: Buffer.from('{"amount":250,"currency":"EUR"}'),
  tags: ["new"],
  erasedAt: null,
};

const DELIVERY: WhyDelivery = {
  id: "dlv_1",
  status: "pending",
  attempts: 0,
  nextAttemptAt: START,
  attempt: null,
  ahead: null,
  behind: null,
};

interface More {
  readonly event?: Partial<WhyFacts["event"]>;
  readonly choice?: Partial<KeptChoice>;
  readonly next?: Partial<KeptChoice>;
  readonly decidedBy?: WhyFacts["decidedBy"];
  readonly endpoint?: Partial<WhyFacts["endpoint"]>;
  readonly delivery?: Partial<WhyDelivery>;
}

function why({ event, choice, next, decidedBy, endpoint, delivery }: More, now = NOW) {
  const reason = reasonOf(
    {
      event: { ...EVENT, ...event },
      endpoint: { tenant: "default", deletedAt: null, ...endpoint },
      decidedBy: decidedBy ?? {
        known: "chosen",
        choice: { ...CHOICE, ...choice },
        next: next === undefined ? null : { ...CHOICE, change: "changed", ...next },
      },
      delivery: delivery === undefined ? null : { ...DELIVERY, ...delivery },
    },
    now,
  );
  return [reason.code, sentenceOf(reason)] as const;
}

const ATTEMPT = { endedAt: START + 12, error: null, statusCode: 204 };
const FAILURE = { endedAt: START + 12, error: "http_status", statusCode: 503 } as const;
const TIMEOUT = { endedAt: START + 12, error: "timeout", statusCode: null } as const;
const LARGE = { data: { amount: { $gt: 1000 } } };
const ERASED = { data: null, tags: [], erasedAt: START + 5 };

const CASES: readonly (readonly [what: string, facts: More, code: string, sentence: string | RegExp])[] = [
  [
    "delivered",
    { delivery: { status: "delivered", attempts: 1, attempt: ATTEMPT } },
    "delivered",
    "It was delivered at 2026-11-20T09:55:00.012Z after 1 attempt, and the receiver answered 204.",
  ],
  [
    "delivered, though the attempt is lost",
    { delivery: { status: "delivered", attempts: 2 } },
    "delivered",
    "It was delivered after 2 attempts.",
  ],
  [
    "failed",
    { delivery: { status: "failed", attempts: 7, attempt: FAILURE } },
    "failed",
    "It failed at 2026-11-20T09:55:00.012Z after 7 attempts; the last one: 503 from the receiver; it can be replayed.",
  ],
  [
    "held for too long",
    {
      delivery: { status: "failed", attempts: 1, attempt: { endedAt: START, error: "held_expired", statusCode: null } },
    },
    "failed",
    /the last one: held for too long; it can be replayed\.$/,
  ],
  [
    "cancelled, at an endpoint that was deleted",
    { delivery: { status: "cancelled", attempts: 1 }, endpoint: { deletedAt: START + 1 } },
    "cancelled",
    "Its delivery was cancelled after 1 attempt, so it is not sent any more; the endpoint was deleted at 2026-11-20T09:55:00.001Z.",
  ],
  [
    "erased",
    { delivery: { status: "cancelled" }, event: ERASED },
    "erased",
    "The event was erased at 2026-11-20T09:55:00.005Z, and its delivery is cancelled.",
  ],
  [
    "delivered before it was erased",
    { delivery: { status: "delivered", attempts: 1, attempt: ATTEMPT }, event: ERASED },
    "delivered",
    /^It was delivered at /,
  ],
  [
    "shadowed",
    { delivery: { status: "shadowed", nextAttemptAt: null } },
    "shadowed",
    "It was shadowed: the endpoint was disabled when the event was published, and shadows what it misses, so nothing was sent.",
  ],
  [
    "held",
    { delivery: { status: "held", nextAttemptAt: null } },
    "held",
    "It is held, because the endpoint is disabled; it is sent when the endpoint is enabled.",
  ],
  [
    "due later",
    { delivery: { attempts: 2, nextAttemptAt: START + 60_000, attempt: TIMEOUT } },
    "retrying",
    "It waits for its next attempt at 2026-11-20T09:56:00.000Z after 2 attempts; the last one: no answer in time.",
  ],
  [
    "behind another one of its ordering key",
    {
      delivery: {
        nextAttemptAt: null,
        behind: { event: "evt_2", attempts: 3, nextAttemptAt: START + 60_000, holdsKey: false },
      },
    },
    "behind",
    "It waits behind evt_2, which has the same ordering key and goes first; attempt 4 of that one is due at 2026-11-20T09:56:00.000Z.",
  ],
  [
    "behind one that holds the key",
    { delivery: { nextAttemptAt: null, behind: { event: "evt_2", attempts: 7, nextAttemptAt: null, holdsKey: true } } },
    "behind",
    "It waits behind evt_2, which failed after 7 attempts and holds their ordering key, until somebody replays or cancels that one.",
  ],
  ["due", { delivery: {} }, "waiting", "It is due, and is sent as soon as it is the endpoint's turn."],
  ["behind one", { delivery: { ahead: 1 } }, "waiting", "It is due, and waits behind 1 delivery to the same endpoint."],
  ["behind many", { delivery: { ahead: AHEAD_LIMIT } }, "waiting", /waits behind at least 1,000 deliveries/],
  [
    "of another tenant",
    { endpoint: { tenant: "acme" } },
    "tenant_differs",
    "The event belongs to the tenant default, and the endpoint to acme.",
  ],
  [
    "a test of another endpoint",
    { event: { test: true } },
    "test_of_another",
    "It is a test event, which goes to one endpoint only, and that is another one.",
  ],
  [
    "before the registration",
    { decidedBy: { known: "unregistered", registeredAt: START + 1 } },
    "not_registered",
    "The endpoint did not exist when the event was published; it was registered at 2026-11-20T09:55:00.001Z.",
  ],
  [
    "after the deletion",
    { choice: { change: "deleted" } },
    "deleted",
    "The endpoint was deleted at 2026-11-20T09:54:59.000Z, before the event was published.",
  ],
  [
    "not subscribed",
    { event: { type: "invoice.paid" } },
    "not_subscribed",
    "When the event was published, the endpoint had not chosen invoice.paid; it had chosen budget.* and goal.achieved.",
  ],
  [
    "not subscribed, of many",
    { event: { type: "z" }, choice: { events: ["a", "b", "c", "d", "e", "f", "g"] } },
    "not_subscribed",
    /it had chosen a, b, c, d, e and 2 more\.$/,
  ],
  [
    "skipped",
    { choice: { enabled: false, whenDisabled: "skip" } },
    "skipped",
    "The endpoint was disabled when the event was published, and it skips what it misses.",
  ],
  [
    "skipped, because webhookd had disabled it",
    { choice: { enabled: false, whenDisabled: "skip", disabledReason: "gone" } },
    "skipped",
    /published \(its receiver had answered 410\), and/,
  ],
  [
    "filtered",
    { choice: { filter: LARGE } },
    "filtered",
    "The endpoint's filter did not take it: /data/amount/$gt fails, because /data/amount is 250.",
  ],
  [
    "filtered by any of three",
    { choice: { filter: { $or: [LARGE, { tags: "vip" }, { data: { currency: "USD" } }] } } },
    "filtered",
    'The endpoint\'s filter did not take it: /$or/0/data/amount/$gt fails, because /data/amount is 250, and /$or/1/tags fails, because /tags/0 is "new", and 1 more.',
  ],
  [
    "filtered by what is missing",
    { choice: { filter: { data: { x: { $exist: true } } } } },
    "filtered",
    /: \/data\/x\/\$exist fails, because \/data\/x has no value\.$/,
  ],
  [
    "filtered, and erased since",
    { choice: { filter: LARGE }, event: ERASED },
    "filtered",
    "The endpoint's filter did not take it: the event's data was erased at 2026-11-20T09:55:00.005Z, so it cannot be known any more which condition decided.",
  ],
  [
    "filtered by the type alone, and erased since",
    { choice: { filter: { type: "goal.achieved" } }, event: ERASED },
    "filtered",
    /: \/type fails, because \/type is "budget\.exceeded"\.$/,
  ],
  [
    "filtered, and lost by damage",
    { choice: { filter: LARGE }, event: { data: null } },
    "filtered",
    /the event's data was lost, so/,
  ],
  [
    "decided by a change that was made at the same time",
    { next: { enabled: false, whenDisabled: "skip", at: START + 20 } },
    "skipped",
    /was disabled/,
  ],
  ["deleted at the same time", { next: { change: "deleted", at: START + 20 } }, "deleted", /was deleted at/],
  [
    "without a delivery, though a much later change would have decided so",
    { next: { enabled: false, whenDisabled: "skip", at: START + 3_600_000 } },
    "unknown",
    "It cannot be known any more: the endpoint was to get the event, but the delivery is not kept any more.",
  ],
  [
    "of a choice that is gone",
    { decidedBy: { known: "removed" } },
    "unknown",
    "It cannot be known any more: what the endpoint had chosen when the event was published is not kept any more.",
  ],
];

describe("the reason why an event arrived or did not", () => {
  it.each(CASES)("%s", (_, facts, code, sentence) => {
    const [is, says] = why(facts);
    expect(is).toBe(code);
    if (typeof sentence === "string") expect(says).toBe(sentence);
    else expect(says).toMatch(sentence);
    // It is one sentence.
    expect(says).toMatch(/^[A-Z].*\.$/);
  });

  it("says that nothing is sent now", () => {
    expect(why({ delivery: { ahead: 2 } }, { ...NOW, halted: "the operator has paused it" })[1]).toBe(
      "It is due, and waits behind 2 deliveries to the same endpoint; nothing is being sent now: the operator has paused it.",
    );
  });

  it("has a case here for each answer", () => {
    expect(new Set(CASES.map(([, , code]) => code))).toEqual(new Set(REASON_CODES));
  });

  it("cuts a long value", () => {
    const filter = { data: { note: "x" } };
    const data = Buffer.from(JSON.stringify({ note: "y".repeat(5000) }));
    expect(why({ choice: { filter }, event: { data } })[1].length).toBeLessThan(200);
  });
});
