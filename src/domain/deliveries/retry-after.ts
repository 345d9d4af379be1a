/** `Retry-After`: a receiver's wish to be left alone for a while (RFC 9110 10.2.3). */
import type { Outcome } from "./attempt.ts";

const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = String.raw`\d\d:\d\d:\d\d`;
/** The three forms of RFC 9110 5.6.7; the last one leaves out that it is GMT. */
const HTTP_DATE = new RegExp(
  String.raw`^(?:${DAY}, \d\d ${MONTH} \d{4} ${TIME} GMT|${LONG_DAY}, \d\d-${MONTH}-\d\d ${TIME} GMT|(${DAY} ${MONTH} [ \d]\d ${TIME} \d{4}))$`,
);

/** Milliseconds from `endedAt` for which a 429 or 503 asks; 0 when it asks for nothing that can be understood. */
export function askedDelay({ statusCode, responseHeaders }: Outcome, endedAt: number): number {
  const text = statusCode === 429 || statusCode === 503 ? responseHeaders["retry-after"] : undefined;
  if (text === undefined) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const match = HTTP_DATE.exec(text);
  if (match === null) return 0;
  const instant = Date.parse(match[1] === undefined ? text : `${text} GMT`);
  return Number.isNaN(instant) ? 0 : Math.max(0, instant - endedAt);
}
