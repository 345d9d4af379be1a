/**
 * Writes a report of the failures at one endpoint, for the people who run the receiver. It is Markdown, and contains no
 * secret.
 */
import { adviceOnFailure } from "../../src/client/advice.ts";
import type { FailureGroup } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { printable } from "../../src/domain/printable.ts";
import { countText, longAge, tookText } from "../draw/numbers.ts";
import { shortUrl } from "../draw/status.ts";
import type { State } from "../model/state.ts";
import { selectedRow } from "./lists/paged-list.ts";
import { here } from "./lists/places.ts";

/** The maximum number of characters of the receiver's response. */
const MAX_BODY = 2000;

export interface Report {
  readonly name: string;
  readonly text: string;
}

/** Returns a message instead if there is nothing to report. */
export function reportHere(state: State): Report | string {
  const place = here(state);
  const group = place.kind === "failures" || place.kind === "overview" ? selectedRow(place.list) : null;
  if (group === null) return "no group is selected";
  const at = new Date(state.now).toISOString();
  const stamp = at.slice(0, 19).replaceAll(/[-:]/g, "");
  return { name: `webhookd-report-${group.endpoint.slice(-8)}-${stamp}Z.md`, text: textOf(state, group, at) };
}

function textOf({ known, now, settings }: State, group: FailureGroup, at: string): string {
  const { endpoint, error, status_code: code, failed, pending, held, first_at: first, last_at: last } = group;
  const url = known.endpoints.get(endpoint)?.url;
  const sample = known.samples.get(group.sample_attempt);
  const advice = adviceOnFailure(group, sample, now - Date.parse(first));
  const success = known.health.get(endpoint)?.value.health.last_success_at;
  return [
    `# Webhooks that are not delivered: ${causeText(error, code)}`,
    "",
    `Written at ${at} by webhookd ${settings.version}.`,
    "",
    "Endpoint:",
    "",
    block(`${url === undefined ? "" : `${shortUrl(url)}\n`}${endpoint}`),
    "",
    `- What happens: ${causeText(error, code)}, since ${first} (${longAge(now - Date.parse(first))}), last at ${last}.`,
    `- Not delivered: ${countText(failed)} failed, ${countText(pending + held)} still waiting.`,
    ...(success === undefined ? [] : [`- Last success: ${success ?? "none yet"}.`]),
    ...(error === "timeout"
      ? ["- Some may have been handled: the request timed out, but the work may have finished later."]
      : []),
    "",
    ...(sample === undefined
      ? []
      : [
          "## The latest attempt",
          "",
          `At ${sample.started_at}, ${tookText(sample.duration_ms)}:`,
          "",
          block(`${sample.event}\n${sample.detail}`),
          "",
          ...(sample.response_body === ""
            ? []
            : ["The beginning of the answer:", "", block(sample.response_body.slice(0, MAX_BODY)), ""]),
        ]),
    "## What helps",
    "",
    `- ${advice.meaning}`,
    `- ${advice.receiver}`,
    "- Answer with 2xx within the time limit, and do the work afterwards.",
    "- An event keeps its id in every attempt, so you can drop duplicates.",
    "- Tell us once it is fixed: we then replay the failed events, one first.",
    "",
  ].join("\n");
}

/** Formats outside text as an indented block, so that no line of it can end the block or be read as Markdown. */
function block(text: string): string {
  return printable(text, { keepNewlines: true })
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
}
