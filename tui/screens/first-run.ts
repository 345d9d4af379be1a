/** Texts that say what to do on the first day. */
import type { State } from "../model/state.ts";
import { KEY } from "../keys/names.ts";

export const NO_ENDPOINT: readonly string[] = [
  "",
  "No endpoints yet. An endpoint is a URL that receives your events.",
  "",
  `  ${KEY.add}   add one: you enter its URL and event types`,
  "",
  "or start one in another terminal that prints what it receives:",
  "",
  "  webhookd listen --register",
  "",
  `Then send something: ${KEY.test} sends a test event, and this publishes a real one:`,
  "",
  "  webhookd trigger budget.exceeded",
];

const NO_EVENT: readonly string[] = [
  "",
  "No events yet. Send one:",
  "",
  "  t   send a test event to an endpoint",
  "",
  "or publish one, in another terminal:",
  "",
  "  webhookd trigger budget.exceeded",
];

/** Returns the text for a list of events or deliveries that is empty without a filter. */
export function firstRun({ known }: State): readonly string[] {
  return known.endpoints.size === 0 && known.roll !== null ? NO_ENDPOINT : NO_EVENT;
}
