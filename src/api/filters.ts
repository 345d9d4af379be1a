/** The filters that lists share: `interface.md` §2. */
import { ATTEMPT_ERRORS } from "../domain/attempt.ts";
import type { Period, ResultFilter, StatusCodes } from "../store/store.ts";
import {
  flagParameter,
  instantParameter,
  namesParameter,
  severalParameter,
  textParameter,
  type Parameter,
  type Query,
} from "./parameter.ts";

export const Type = namesParameter("type", "Only what belongs to an event of this type.");
export const Since = instantParameter("since", "Only what was received at this instant or later.");
export const Until = instantParameter("until", "Only what was received before this instant.");
export const Test = flagParameter("test", "Test events, which other lists leave out, and nothing else.", false);
const LastError = severalParameter(
  "error",
  ATTEMPT_ERRORS,
  "Only attempts that ended with this error; events and deliveries by the last one.",
);
const StatusCode = statusCodeParameter(
  "status_code",
  "Only attempts that were answered so; events and deliveries by the last one.",
);

export const PERIOD = [Since, Until];
export const RESULT = [LastError, StatusCode];

export function periodOf(query: Query): Period {
  return { since: Since.read(query), until: Until.read(query) };
}

export function resultOf(query: Query): ResultFilter {
  return { error: LastError.read(query), statusCode: StatusCode.read(query) };
}

/** `503`, or `5xx` for all of 500 to 599. */
function statusCodeParameter(name: string, description: string): Parameter<StatusCodes> {
  const text = textParameter(
    name,
    description,
    /^[1-9](?:\d\d|xx)$/,
    "is a status code such as 503, or a class such as 5xx",
  );
  return {
    ...text,
    read(query) {
      const value = text.read(query);
      return value === undefined ? undefined : statusCodes(value);
    },
  };
}

export function statusCodes(text: string): StatusCodes {
  return { least: Number(text.replace("xx", "00")), most: Number(text.replace("xx", "99")) };
}

export function statusCodesText({ least, most }: StatusCodes): string {
  return least === most ? String(least) : `${least / 100}xx`;
}
