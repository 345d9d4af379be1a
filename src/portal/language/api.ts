/** The page's own words for what the API says in English. Without any, its message is shown as it is. */
import type { ClientError } from "../../client/error.ts";
import type { Answers } from "../../client/operations.ts";
import { capital, languageNow } from "./text.ts";

/** Returns the text of a failure, for people. */
export function faultText(fault: ClientError): string {
  const [only, ...others] = fault.faults;
  const isOfField = only !== undefined && others.length === 0;
  const own = wordsFor(isOfField ? only.code : fault.code);
  if (own !== undefined) return own;
  const detail = isOfField ? only.detail : fault.message;
  const text = capital(detail.replace(/^\/[a-z_/0-9]* /, ""));
  return /[.!?。]$/.test(text) ? text : `${text}.`;
}

export function wordsFor(code: string): string | undefined {
  const faults: Readonly<Record<string, string>> = languageNow().api?.faults ?? {};
  return faults[code];
}

/** Says why an event arrived at an endpoint, or did not. */
export function reasonFor({ reason, sentence }: Answers["explainEvent"]): string {
  return languageNow().api?.reasons[reason] ?? sentence;
}
