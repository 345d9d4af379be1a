/** Errors as callers see them, RFC 9457: `interface.md` §2. */
import * as v from "valibot";
import { FIELD_CODES, PROBLEMS, type ErrorCode } from "../../domain/errors.ts";
import { described, id, titled } from "./wire.ts";

const CODES = Object.keys(PROBLEMS) as ErrorCode[];

export const FieldProblem = titled(
  "FieldProblem",
  v.object({
    pointer: described(
      v.string(),
      'A JSON pointer (RFC 6901) into the body, `""` for all of it; `?name` for a parameter.',
    ),
    code: v.picklist(FIELD_CODES),
    detail: v.string(),
  }),
);

export const Problem = titled(
  "Problem",
  v.object({
    type: described(v.string(), "`urn:webhookd:problem:` and the code."),
    title: v.string(),
    status: v.pipe(v.number(), v.integer()),
    detail: described(v.string(), "What happened and what to do next, for people."),
    code: described(v.picklist(CODES), "Stable: what a program should look at."),
    errors: v.optional(described(v.array(FieldProblem), "Which fields are at fault; at most 20.")),
    request_id: described(id("req"), "The same as in `X-Request-Id`; the daemon's log has it too."),
  }),
);
