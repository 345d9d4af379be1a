/** Jobs as callers ask for and see them: `interface.md` §3 and §7. */
import * as v from "valibot";
import { ATTEMPT_ERRORS } from "../../domain/attempt.ts";
import { idPattern, isId } from "../../domain/id.ts";
import { JOB_ACTIONS, JOB_STATUSES, namedStatuses, statusesOf } from "../../domain/job.ts";
import { line, rate } from "../endpoint-schema.ts";
import { parseInstant } from "../instant.ts";
import { DELIVERY_STATUSES } from "./delivery.ts";
import { Count, described, id, Instant, pageOf, titled } from "./wire.ts";

const MAX_EVENTS = 1000;
/** More than a step of the store takes in a second. */
const MAX_RATE = 500;
const DEFAULT_RATE = 20;

const At = v.pipe(
  v.string(),
  v.metadata({ format: "date-time" }),
  v.check((text) => parseInstant(text) !== null, "invalid_type: must be an RFC 3339 instant"),
  v.transform((text) => parseInstant(text)!),
);

const idOf = (prefix: "ep" | "evt") =>
  v.pipe(
    v.string(),
    v.check((text) => isId(prefix, text), `invalid_type: is no id of the form ${prefix}_…`),
    v.metadata({ pattern: idPattern(prefix).source }),
  );

const Filter = v.pipe(
  v.strictObject({
    status: v.optional(
      described(
        v.picklist(DELIVERY_STATUSES),
        "`replay` takes failed deliveries, or `delivered` ones when they are named; `attempt_now` pending ones, or " +
          "`failed`; `cancel` pending and held ones, or one of the two.",
      ),
    ),
    type: v.optional(v.string()),
    endpoint: v.optional(idOf("ep")),
    events: v.optional(
      described(
        v.pipe(
          v.array(idOf("evt")),
          v.minLength(1, "too_few: must name at least one event"),
          v.maxLength(MAX_EVENTS, `too_long: must name at most ${MAX_EVENTS} events`),
        ),
        "Only deliveries of these events.",
      ),
    ),
    error: v.optional(described(v.picklist(ATTEMPT_ERRORS), "Of the last attempt.")),
    status_code: v.optional(
      described(
        v.pipe(v.string(), v.regex(/^[1-9](?:\d\d|xx)$/, "invalid_type: is a status code such as 503, or 5xx")),
        "Of the last attempt: `503`, or `5xx` for all of 500 to 599.",
      ),
    ),
    since: v.optional(described(At, "Only what was received at this instant or later.")),
    until: v.optional(described(At, "Only what was received before this instant.")),
    test: v.optional(described(v.boolean(), "Test events, which are left out else."), false),
    missing: v.optional(
      described(
        v.boolean(),
        "Back-fills one `endpoint`: events of the types that it chose, and of which it has no delivery. Goes with " +
          "`replay`, `type`, `since` and `until`.",
      ),
      false,
    ),
  }),
  v.forward(
    v.partialCheck(
      [["missing"], ["endpoint"]],
      ({ missing, endpoint }) => !missing || endpoint !== undefined,
      "missing_field: names the endpoint that missed them",
    ),
    ["endpoint"],
  ),
  v.forward(
    v.check(
      (filter) =>
        !filter.missing ||
        !(["status", "events", "error", "status_code"] as const).some((name) => filter[name] !== undefined),
      "conflicting_fields: goes with type, endpoint, since and until alone",
    ),
    ["missing"],
  ),
);

export const JobDraft = titled(
  "JobDraft",
  v.pipe(
    v.strictObject({
      action: described(
        v.picklist(JOB_ACTIONS),
        "`replay` begins a new round; `attempt_now` makes one attempt outside the ladder; `cancel` ends what is open.",
      ),
      filter: described(Filter, "As the lists' filter; `{}` takes all that the action can be done to."),
      dry_run: v.optional(described(v.boolean(), "Only answers what the job would be about."), false),
      expect: v.optional(described(Count, "Refuse, when the set holds another number of deliveries than this.")),
      rate_per_second: v.optional(described(rate(MAX_RATE), "For each endpoint; at least 0.001."), DEFAULT_RATE),
      canary: v.optional(
        described(
          v.boolean(),
          "The first delivery to each endpoint is tried alone. A failure pauses the job, a success lets it go on.",
        ),
        false,
      ),
      reason: v.optional(line(256), ""),
    }),
    v.forward(
      v.check(
        ({ action, filter }) => filter.missing || statusesOf(action, filter.status) !== null,
        `conflicting_fields: ${JOB_ACTIONS.map((action) => `${action} takes ${namedStatuses(action).join(" or ")}`).join(", ")}`,
      ),
      ["filter", "status"],
    ),
    v.forward(
      v.check(
        ({ action, filter }) => !filter.missing || action === "replay",
        "conflicting_fields: goes with replay alone",
      ),
      ["filter", "missing"],
    ),
    v.forward(
      v.check(
        ({ action, canary }) => !canary || action !== "cancel",
        "conflicting_fields: nothing is tried of a cancel",
      ),
      ["canary"],
    ),
  ),
);

export const ResumeRequest = titled(
  "ResumeRequest",
  v.pipe(
    v.strictObject({
      canary: v.optional(
        described(v.literal(true), "The next delivery to each endpoint that none was delivered to is tried alone."),
      ),
      send_all: v.optional(described(v.literal(true), "All that is left is sent at the job's pace.")),
    }),
    v.forward(
      v.check(({ canary, send_all: all }) => !(canary && all), "invalid_type: goes without canary"),
      ["send_all"],
    ),
  ),
);

export const Job = titled(
  "Job",
  v.object({
    id: id("job"),
    tenant: described(v.string(), "Whose deliveries it is over: a tenant's name, or `*` for every tenant's."),
    action: v.picklist(JOB_ACTIONS),
    status: v.picklist(JOB_STATUSES),
    filter: described(v.looseObject({}), "As it was asked for."),
    matched: described(Count, "What the set held when the job was made."),
    done: described(Count, "Delivered, failed or cancelled; with `skipped` it comes to `matched` in the end."),
    delivered: Count,
    failed: described(Count, "By the first attempt the job made for it: of a replay, retries go on by the ladder."),
    skipped: described(Count, "What no longer qualified when its turn came."),
    rate_per_second: described(v.number(), "For each endpoint."),
    canary: v.boolean(),
    reason: v.string(),
    paused_reason: described(v.nullable(v.string()), "Why it paused itself; null unless it did."),
    created_at: Instant,
    ended_at: described(v.nullable(Instant), "Null while it runs or is paused."),
  }),
);

const JobResult = v.object({
  endpoint: id("ep"),
  matched: Count,
  done: Count,
  delivered: Count,
  failed: Count,
  skipped: Count,
});

/** A job by itself. */
export const WholeJob = titled(
  "WholeJob",
  v.object({
    ...Job.entries,
    endpoints: described(v.array(JobResult), "What it came to at each: at most 100, the largest first."),
  }),
);

export const JobPage = pageOf(Job);

export const JobPlan = titled(
  "JobPlan",
  v.object({
    action: v.picklist(JOB_ACTIONS),
    matched: described(Count, "What `expect` would have to be."),
    timed_out: described(Count, "Of these, the last attempt had no answer in time: they may have been handled."),
    eta_seconds: described(Count, "How long the pace makes it take."),
    endpoints: v.array(v.object({ endpoint: id("ep"), matched: Count, timed_out: Count })),
    left_alone: described(
      v.array(
        v.object({
          endpoint: id("ep"),
          deliveries: Count,
          reason: v.picklist(["endpoint_disabled", "endpoint_deleted"]),
        }),
      ),
      "What matches the filter and cannot be sent now.",
    ),
  }),
);

export const aJobDraft = {
  action: "replay",
  filter: { status: "failed", status_code: "5xx", since: "2026-11-20T07:55:00Z" },
  expect: 441,
  canary: true,
  reason: "the receiver's database is back",
};

export const aJob = {
  id: "job_06fbqxvy4r2s4t6v8w0x2y4z60",
  tenant: "default",
  action: "replay",
  status: "running",
  filter: { status: "failed", status_code: "5xx", since: "2026-11-20T07:55:00.000Z" },
  matched: 441,
  done: 120,
  delivered: 118,
  failed: 2,
  skipped: 1,
  rate_per_second: 20,
  canary: true,
  reason: "the receiver's database is back",
  paused_reason: null,
  created_at: "2026-11-20T09:55:00.123Z",
  ended_at: null,
};

export const aWholeJob = {
  ...aJob,
  endpoints: [
    { endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", matched: 390, done: 80, delivered: 78, failed: 2, skipped: 1 },
    { endpoint: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t", matched: 51, done: 40, delivered: 40, failed: 0, skipped: 0 },
  ],
};

export const aJobPlan = {
  action: "replay",
  matched: 441,
  timed_out: 38,
  eta_seconds: 20,
  endpoints: [
    { endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", matched: 390, timed_out: 38 },
    { endpoint: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t", matched: 51, timed_out: 0 },
  ],
  left_alone: [],
};
