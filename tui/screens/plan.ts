/** The plan of a replay of many. */
import type { JobPlan } from "../../src/client/operations.ts";
import type { PlanDialog } from "../model/dialog.ts";
import { age, countText, longAge } from "../draw/numbers.ts";
import type { Span } from "../draw/row.ts";
import { fit, prose } from "../draw/text.ts";
import type { State } from "../model/state.ts";
import { etaSeconds } from "../state/dialogs/plan.ts";
import { endpointName } from "./lists.ts";

/** Of the content of a box. A low screen leaves out those of the highest rank first. */
interface Ranked {
  readonly spans: readonly Span[];
  readonly rank: number;
}

const ENDPOINT_RANK = 5;

export function planTitle({ plan, canary, about }: PlanDialog): string {
  if (plan === null) return `Replay ${about}`;
  const what = `${countText(plan.matched)} failed ${plan.matched === 1 ? "delivery" : "deliveries"}`;
  return canary ? `Canary replay of ${what}` : `Replay ${what}`;
}

/** At most `height` rows. */
export function planRows(state: State, dialog: PlanDialog, { width, height }: { width: number; height: number }) {
  const rows = contentOf(state, dialog, width);
  while (rows.length > height) {
    const most = Math.max(...rows.map(({ rank }) => rank));
    rows.splice(
      rows.findLastIndex(({ rank }) => rank === most),
      1,
    );
  }
  return rows.map(({ spans }) => spans);
}

function contentOf(state: State, dialog: PlanDialog, width: number): Ranked[] {
  const { plan, problem, about, note } = dialog;
  const { look } = state.settings;
  const row = (rank: number, ...spans: Span[]): Ranked => ({ spans, rank });
  if (problem !== null) {
    const lines = prose(problem, width, look).map((text) => row(0, { text, style: "red" }));
    return [
      ...lines,
      row(2),
      row(
        0,
        ...keySpans([
          ["Enter", "ask again"],
          ["Esc", "leave"],
        ]),
      ),
    ];
  }
  const said = note === null ? [] : [row(0, { text: note, style: "yellow" })];
  if (plan === null) {
    return [...said, row(0, { text: "The daemon is counting…" }), row(2), row(0, ...keySpans([["Esc", "cancel"]]))];
  }
  return [
    row(3, { text: "What      ", style: "grey" }, { text: about }),
    row(4, { text: "Fixed     ", style: "grey" }, { text: fixedText(dialog) }),
    ...endpointRows(state, plan).map((spans) => row(ENDPOINT_RANK, ...spans)),
    ...plan.left_alone.slice(0, 3).map(({ endpoint, deliveries, reason }) =>
      row(ENDPOINT_RANK, {
        text: `${countText(deliveries)} not replayed: ${endpointName(state, endpoint)} (${reason.replaceAll("_", " ")})`,
        style: "yellow",
      }),
    ),
    row(6),
    row(1, ...paceSpans(dialog, plan)),
    ...(plan.timed_out === 0
      ? []
      : [
          row(2, { text: "Careful   ", style: "yellow" }, { text: timedOutText(plan) }),
          row(6, { text: "          The event id stays the same, so a receiver that checks ids drops duplicates." }),
        ]),
    row(6),
    ...said,
    ...agreeRows(dialog, plan).map((spans) => row(0, ...spans)),
  ];
}

function fixedText({ set, plan }: PlanDialog): string {
  const { until, events } = set.filter;
  const few = Array.isArray(events) ? events.length - (plan?.matched ?? 0) : 0;
  if (few > 0) return `by id; at least ${few} of them have no failed deliveries`;
  return typeof until === "string" ? `received before ${until.slice(0, 19)}Z; later ones are not included` : "by id";
}

/** Of the table, without the spaces between. */
const WIDTHS = { count: 10, timedOut: 10, health: 20 };

function endpointRows(state: State, { endpoints }: JobPlan): Span[][] {
  const row = (count: string, timedOut: string, health: Span, endpoint: string): Span[] => [
    {
      text: `${fit(count, WIDTHS.count, { align: "right" })}  ${fit(timedOut, WIDTHS.timedOut, { align: "right" })}  `,
    },
    { text: fit(health.text, WIDTHS.health), style: health.style },
    { text: `  ${endpoint}` },
  ];
  const bold = (spans: readonly Span[]) => spans.map(({ text }): Span => ({ text, style: "bold" }));
  return [
    bold(row("COUNT", "TIMED OUT", { text: "HEALTH" }, "ENDPOINT")),
    ...endpoints.map(({ endpoint, matched, timed_out: timedOut }) =>
      row(countText(matched), countText(timedOut), healthSpan(state, endpoint), endpointName(state, endpoint)),
    ),
  ];
}

function healthSpan({ known, now }: State, id: string): Span {
  const found = known.health.get(id)?.value;
  if (found === undefined) return { text: "..." };
  const { consecutive_failures: failures, last_failure_at: last } = found.health;
  if (failures === 0 || last === null) return { text: "answers", style: "green" };
  return { text: `failing, last ${age(now - Date.parse(last))} ago`, style: "red" };
}

function paceSpans({ pace, field, typed }: PlanDialog, plan: JobPlan): Span[] {
  const value: Span[] =
    field === "pace"
      ? [{ text: `${typed} `, style: "reverse" }, { text: "/s" }]
      : [{ text: `${pace}/s`, style: "bold" }];
  const eta = etaSeconds(plan, pace);
  return [
    { text: "Pace      ", style: "grey" },
    ...value,
    { text: ` to each endpoint, ${eta === 0 ? "done within a second or two" : `about ${longAge(eta * 1000)}`}` },
  ];
}

function timedOutText({ timed_out: count }: JobPlan): string {
  return `${countText(count)} timed out: the receiver may have handled them.`;
}

function agreeRows({ canary, field, typed, sent }: PlanDialog, { matched }: JobPlan): Span[][] {
  if (sent !== null) return [[{ text: "Requested; waiting for the daemon." }], keySpans([["Esc", "leave"]])];
  if (matched === 0) return [[{ text: "There is nothing to replay." }], keySpans([["Esc", "leave"]])];
  if (field === "pace")
    return [
      [],
      keySpans([
        ["Enter", "use this pace"],
        ["Esc", "cancel"],
      ]),
    ];
  const keys: [string, string][] = [
    ["c", canary ? "no canary" : "canary first"],
    ["p", "pace"],
    ["C", "command"],
    ["Esc", "cancel"],
  ];
  if (!canary) {
    return [
      keySpans(keys),
      [{ text: `To replay all now, type ${matched} and press Enter:  ` }, { text: `${typed} `, style: "reverse" }],
    ];
  }
  return [
    [{ text: "One per endpoint goes first; the rest follows where it is delivered." }],
    keySpans([["Enter", "start the canary"], ...keys]),
  ];
}

function keySpans(keys: readonly (readonly [key: string, label: string])[]): Span[] {
  return keys.flatMap(([key, label], index): Span[] => [
    { text: index === 0 ? "" : "    " },
    { text: key, style: "bold" },
    { text: ` ${label}` },
  ]);
}
