/** The schema of a request for a job: `docs/interface.md` §3. */
import * as v from "valibot";
import { SHOWN_STATUSES } from "../../domain/deliveries/delivery.ts";
import { idPattern, isId } from "../../domain/id.ts";
import { parseInstant } from "../../domain/time/instant.ts";
import { JOB_ACTIONS, namedStatuses, statusesOf } from "../../domain/deliveries/job.ts";
import { AttemptError, line, rate, Count, described, titled } from "../pipeline/shapes.ts";

const MAX_EVENTS = 1000;

/** The store's steps take fewer deliveries than this in a second. */
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
    v.check((text) => isId(prefix, text), `invalid_type: is not an id of the form ${prefix}_…`),
    v.metadata({ pattern: idPattern(prefix).source }),
  );

const Filter = v.pipe(
  v.strictObject({
    status: v.optional(
      described(
        v.picklist(SHOWN_STATUSES),
        "`replay` works on failed deliveries, or on `delivered` ones if you ask for them; `attempt_now` on pending or `failed` ones; `cancel` on pending and held ones, or on one of the two.",
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
    error: v.optional(described(AttemptError, "Only deliveries whose last attempt ended with this error.")),
    status_code: v.optional(
      described(
        v.pipe(v.string(), v.regex(/^[1-9](?:\d\d|xx)$/, "invalid_type: must be a status code such as 503, or 5xx")),
        "The status code of the last attempt: `503`, or `5xx` for 500 to 599.",
      ),
    ),
    since: v.optional(described(At, "Only deliveries of events received at this instant or later.")),
    until: v.optional(described(At, "Only deliveries of events received before this instant.")),
    test: v.optional(described(v.boolean(), "Only deliveries of test events, which are otherwise left out."), false),
    missing: v.optional(
      described(
        v.boolean(),
        "Back-fills one `endpoint` with events of its types for which it has no delivery. Can be combined only with `replay`, `type`, `since` and `until`.",
      ),
      false,
    ),
  }),
  v.forward(
    v.partialCheck(
      [["missing"], ["endpoint"]],
      ({ missing, endpoint }) => !missing || endpoint !== undefined,
      "missing_field: must name the endpoint that missed the events",
    ),
    ["endpoint"],
  ),
  v.forward(
    v.check(
      ({ missing, test, status, events, error, status_code: code }) =>
        !missing || (!test && [status, events, error, code].every((each) => each === undefined)),
      "conflicting_fields: can be combined only with type, endpoint, since and until",
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
        "`replay` begins a new round; `attempt_now` makes one attempt outside the ladder; `cancel` cancels open deliveries.",
      ),
      filter: described(Filter, "The same filter as for lists; `{}` selects everything that the action applies to."),
      dry_run: v.optional(described(v.boolean(), "Only return what the job would work on."), false),
      expect: v.optional(described(Count, "Refuse the job unless the set has exactly this many deliveries.")),
      rate_per_second: v.optional(
        described(rate(MAX_RATE), "How many deliveries per second to each endpoint; at least 0.001."),
        DEFAULT_RATE,
      ),
      canary: v.optional(
        described(
          v.boolean(),
          "The first delivery to each endpoint is tried alone. A failure pauses the job; a success lets it continue.",
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
        "conflicting_fields: is allowed only with the action replay",
      ),
      ["filter", "missing"],
    ),
    v.forward(
      v.check(
        ({ action, canary }) => !canary || action !== "cancel",
        "conflicting_fields: cannot be combined with the action cancel",
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
        described(v.literal(true), "Try one more delivery alone, for each endpoint that has not accepted one yet."),
      ),
      send_all: v.optional(described(v.literal(true), "Send everything that is left, at the job's pace.")),
    }),
    v.forward(
      v.check(({ canary, send_all: all }) => !(canary && all), "invalid_type: cannot be combined with canary"),
      ["send_all"],
    ),
  ),
);

export const aJobDraft = {
  action: "replay",
  filter: { status: "failed", status_code: "5xx", since: "2026-11-20T07:55:00Z" },
  expect: 441,
  canary: true,
  reason: "the receiver's database is back",
};
