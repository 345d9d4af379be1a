/** Draws failures by endpoint and cause: the screen for bad days. */
import { adviceOnFailure } from "../../src/client/advice.ts";
import type { FailureGroup, Job } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { counted } from "../../src/domain/wording.ts";
import { glyph, paint, sparkline } from "../draw/look.ts";
import { age, countText, longAge, shortCount, shortId, tookText } from "../draw/numbers.ts";
import { spanRow, type Span } from "../draw/row.ts";
import { prose } from "../draw/text.ts";
import { FAILURE_ROWS, failureRowsBelow } from "../layout.ts";
import type { List } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { selectedRow } from "../state/lists/paged-list.ts";
import { jobAction } from "../state/jobs.ts";
import { endpointName, whoseText } from "./lists.ts";
import { filled, tableRows, type Column } from "./table.ts";
import { KEY } from "../keys/names.ts";

interface Area {
  readonly width: number;
  readonly height: number;
}

export function failureRows(state: State, list: List<FailureGroup>, room: Area): string[] {
  const below = failureRowsBelow(room.height);
  const empty = ["", "Nothing is failing. Failures are shown here by endpoint and cause, with what to do about them."];
  const rows = failureTable(state, list, { width: room.width, height: room.height - below, empty });
  const group = selectedRow(list);
  if (below === 0) return rows;
  const about = group === null ? [] : aboutGroup(state, group, { width: room.width, height: below });
  return [...rows, ...filled(firstRows(state, about, below, room.width), room.width, below)];
}

/** Returns as many rows as fit. The last one counts the others. */
function firstRows({ settings: { look } }: State, rows: readonly string[], most: number, width: number): string[] {
  if (rows.length <= most) return [...rows];
  const missing = counted(rows.length - most + 1, "more line", "more lines");
  const text = `  ${glyph(look, "ellipsis")} ${missing}: w writes all of it to a file`;
  return [...rows.slice(0, most - 1), spanRow(look, [{ text, style: "grey" }], width)];
}

export function failureTable(
  state: State,
  list: List<FailureGroup>,
  { empty, ...room }: Area & { readonly empty: readonly string[] },
): string[] {
  const { look } = state.settings;
  const ago = (at: string) => age(state.now - Date.parse(at));
  const columns: Column<FailureGroup>[] = [
    {
      head: "FAILED",
      width: 7,
      rank: 1,
      align: "right",
      cell: ({ failed }) => ({ text: shortCount(failed), style: "red" }),
    },
    {
      head: "RETRYING",
      width: 8,
      rank: 3,
      align: "right",
      cell: ({ pending, held }) => ({ text: shortCount(pending + held), style: "yellow" }),
    },
    {
      head: "CAUSE",
      least: 21,
      fair: 27,
      width: 30,
      rank: 0,
      cell: ({ error, status_code }) => ({ text: causeText(error, status_code) }),
    },
    {
      head: "ENDPOINT",
      least: 14,
      fair: 17,
      width: 44,
      rank: 2,
      cell: ({ endpoint }, width) => ({ text: endpointName(state, endpoint, width) }),
    },
    { head: "SINCE", width: 5, rank: 4, align: "right", cell: ({ first_at }) => ({ text: ago(first_at) }) },
    { head: "LAST", width: 4, rank: 5, align: "right", cell: ({ last_at }) => ({ text: ago(last_at) }) },
    {
      head: "BY HOUR",
      least: 7,
      width: 25,
      rest: true,
      rank: 6,
      cell: ({ series }, width) => ({
        text: ` ${sparkline(look, series.slice(-Math.max(1, width - 1)))}`,
        style: "red",
      }),
    },
  ];
  return tableRows(state, { list, kind: "failures", columns, ...room, empty });
}

function aboutGroup(state: State, group: FailureGroup, { width, height: below }: Area): string[] {
  const { look } = state.settings;
  const row = (name: string, ...spans: Span[]) =>
    spanRow(look, [{ text: ` ${name.padEnd(14)}`, style: "grey" }, ...spans], width);
  const paragraph = (name: string, text: string) =>
    prose(text, width - 16, look).map((line, index) => row(index === 0 ? name : "", { text: line }));
  const sample = state.known.samples.get(group.sample_attempt);
  const health = state.known.health.get(group.endpoint)?.value.health;
  const since = longAge(state.now - Date.parse(group.first_at));
  const advice = adviceOnFailure(group, sample, state.now - Date.parse(group.first_at));
  const held = group.held > 0 ? ` ${counted(group.held, "is", "are")} held until it is enabled.` : "";
  const answer = sample === undefined ? "…" : `${sample.detail}, in ${tookText(sample.duration_ms)}`;
  const whose = whoseText(state, group.endpoint);
  const last = health?.last_success_at;
  const success =
    health === undefined
      ? ""
      : last === null || last === undefined
        ? " Nothing has been delivered to it yet."
        : ` The last success was ${age(state.now - Date.parse(last))} ago.`;
  return [
    paint(look, "grey", glyph(look, "rule").repeat(width)),
    ...(whose === "" || below < FAILURE_ROWS ? [] : [row("Endpoint", { text: whose })]),
    ...paragraph(
      "What happened",
      `${endpointName(state, group.endpoint)}: ${causeText(group.error, group.status_code)}, for ${since}.${success}${held}`,
    ),
    row("Last answer", { text: answer }),
    ...(sample === undefined || sample.response_body === "" ? [] : [row("", { text: sample.response_body })]),
    ...paragraph("What it means", `${advice.meaning} ${advice.outlook}`),
    ...paragraph("Receiver", advice.receiver),
    row("Being handled", { text: handledText(state, group) }),
    ...paragraph("Type", advice.commands[0]!.line),
    ...paragraph("Customer", advice.customer),
  ];
}

/** Names the newest open job that works on the group. */
function handledText({ known }: State, group: FailureGroup): string {
  const job = known.jobs?.value.find((job) => isOpen(job) && isAbout(job, group));
  if (job === undefined) {
    const ways = [
      ...(group.failed > 0 ? [`${KEY.replayMany} replays them`] : []),
      ...(group.pending + group.held > 0 ? [`${KEY.cancelMany} cancels the waiting ones`] : []),
    ];
    return ["no job is working on it", ways.join(", ")].filter((text) => text !== "").join("; ");
  }
  const { id, status, done, matched, failed } = job;
  const steer = status === "paused" ? "5 resumes it" : "5 stops it";
  return `${jobAction(job)} ${shortId(id)} is ${status}: ${countText(done)} of ${countText(matched)} done, ${countText(failed)} failed; ${steer}`;
}

function isOpen({ status }: Job): boolean {
  return status === "running" || status === "paused";
}

/** True if the job's filter matches the group. A filter has values separated by commas, or no value if any will do. */
function isAbout({ filter }: Job, { endpoint, error, status_code: code }: FailureGroup): boolean {
  const names = (word: string, values: readonly string[]) =>
    typeof filter[word] !== "string" || filter[word].split(",").some((value) => values.includes(value));
  const codes = code === null ? [] : [String(code), `${Math.floor(code / 100)}xx`];
  return names("endpoint", [endpoint]) && names("error", [error]) && names("status_code", codes);
}
