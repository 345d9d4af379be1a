/** What to do on the first day. */
import type { State } from "../model/state.ts";

export const NO_ENDPOINT: readonly string[] = [
  "",
  "No endpoint yet. An endpoint is a URL that gets your events.",
  "",
  "  a   add one: asks for the URL and the event types",
  "",
  "or, in another terminal, one that prints what it gets:",
  "",
  "  webhookd listen --register",
  "",
  "Then send something: t sends a test event, and this publishes one:",
  "",
  "  webhookd trigger budget.exceeded",
];

const NO_EVENT: readonly string[] = [
  "",
  "No event yet. Send one:",
  "",
  "  t   send a test event to an endpoint",
  "",
  "or publish one, in another terminal:",
  "",
  "  webhookd trigger budget.exceeded",
];

/** In a list of events or deliveries that is empty without a filter. */
export function firstRun({ known }: State): readonly string[] {
  return known.endpoints.size === 0 && known.roll !== null ? NO_ENDPOINT : NO_EVENT;
}
