import type { Outbox } from "../../src/client/operations.ts";
import { MAX_COUNTED, outboxTroubleText } from "../../src/domain/outbox/outbox.ts";
import { grouped, span } from "../output/words.ts";

export const NO_OUTBOXES =
  "This daemon reads no outbox. To publish from the transactions of your own database, see docs/outbox.md.";

export function stateText({ up, trouble }: Outbox): string {
  if (trouble !== null) return "IN TROUBLE";
  return up ? "is read" : "starting";
}

export function rowsText(rows: number | null): string {
  if (rows === null) return "?";
  return rows < MAX_COUNTED ? grouped(rows) : `${grouped(rows)} or more`;
}

export function oldestText({ oldest_seconds: seconds }: Outbox): string {
  return seconds === null ? "-" : span(seconds);
}

/** Returns one line for the status. */
export function outboxText(outbox: Outbox): string {
  const { name, trouble, waiting, oldest_seconds: seconds, set_aside: aside } = outbox;
  if (trouble !== null) return `${outboxTroubleText(name, trouble)}; ${trouble.todo}`;
  const oldest = seconds === null || waiting === 0 ? "" : `, the oldest for ${span(seconds)}`;
  const rows = (aside ?? 0) === 0 ? "" : `; ${asideText(outbox)}: webhookd outbox status shows why`;
  return `${name} is read, ${rowsText(waiting)} waiting${oldest}${rows}`;
}

export function asideText({ set_aside: aside }: Outbox): string {
  return `${rowsText(aside)} ${aside === 1 ? "row" : "rows"} set aside`;
}

export function isWell({ trouble, set_aside: aside }: Outbox): boolean {
  return trouble === null && (aside ?? 0) === 0;
}
