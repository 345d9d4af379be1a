/** What does not arrive, as callers see it. */
import * as v from "valibot";
import { ATTEMPT_ERRORS } from "../../domain/attempt.ts";
import { anAttempt } from "./attempt.ts";
import { Count, described, id, Instant, titled } from "./wire.ts";

const FailureGroup = titled(
  "FailureGroup",
  v.object({
    endpoint: id("ep"),
    error: v.picklist(ATTEMPT_ERRORS),
    status_code: described(v.nullable(v.pipe(v.number(), v.integer())), "What the receiver answered, if it did."),
    failed: described(Count, "Deliveries that are given up until they are replayed."),
    pending: described(Count, "Deliveries that failed so, and are tried again."),
    held: described(Count, "The same, of an endpoint that is disabled: kept, not sent."),
    first_at: described(Instant, "When the first of them began to fail so."),
    last_at: described(Instant, "When the latest of these attempts began."),
    series: described(v.array(Count), "How many failed last in each step, oldest first."),
    sample_attempt: described(id("att"), "The latest of these attempts."),
  }),
);

export const Failures = titled(
  "Failures",
  v.object({
    since: described(
      Instant,
      "Events received from then on were looked at: later than was asked for, where more has failed than can be counted.",
    ),
    series_since: described(Instant, "When the first step of each series begins."),
    step_seconds: described(Count, "How long each step of a series is."),
    total: described(Count, "How many groups there are; at most 500 are answered."),
    data: described(v.array(FailureGroup), "Those first of whom most is missing."),
  }),
);

export const someFailures = {
  since: "2026-11-19T09:55:00.000Z",
  series_since: "2026-11-19T09:55:00.000Z",
  step_seconds: 3600,
  total: 1,
  data: [
    {
      endpoint: anAttempt.endpoint,
      error: "http_status",
      status_code: 503,
      failed: 441,
      pending: 1978,
      held: 0,
      first_at: "2026-11-20T08:24:10.004Z",
      last_at: "2026-11-20T09:54:59.120Z",
      series: [...Array<number>(22).fill(0), 419, 2000],
      sample_attempt: anAttempt.id,
    },
  ],
};
