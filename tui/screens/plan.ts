/** Draws the plan of a job on many deliveries. */
import type { JobPlan } from "../../src/client/operations.ts";
import type { PlanDialog } from "../model/dialog.ts";
import { age, countText, longAge } from "../draw/numbers.ts";
import type { Span } from "../draw/row.ts";
import { fit, prose } from "../draw/text.ts";
import type { State } from "../model/state.ts";
import { whyNoActs } from "../state/acts.ts";
import { etaSeconds, kindOf } from "../state/dialogs/plan.ts";
import { endpointName } from "./lists.ts";
import { KEY } from "../keys/names.ts";

/** A row of the box. A short screen drops the rows of the highest rank first. */
interface Ranked {
  readonly spans: readonly Span[];
  readonly rank: number;
}

const ENDPOINT_RANK = 5;

interface Words {
  readonly verb: string;
  /** The current status of the deliveries. */
  readonly adjective: string;
  /** The text before the field in which a person types to agree. */
  readonly agree: string;
  readonly nothing: string;
}

const WORDS: { readonly [K in ReturnType<typeof kindOf>]: Words } = {
  replay: {
    verb: "Replay",
    adjective: "failed",
    agree: "To replay all now",
    nothing: `None of them has failed for good. To try the waiting ones: Esc, then ${KEY.tryMany}.`,
  },
  attempt: {
    verb: "Try",
    adjective: "waiting",
    agree: "To try all now",
    nothing: "None of them is waiting for a retry: there is nothing to try.",
  },
  "back-fill": {
    verb: "Back-fill",
    adjective: "missing",
    agree: "To send all now",
    nothing: "It missed nothing in this period: there is nothing to send.",
  },
  cancellation: {
    verb: "Cancel",
    adjective: "waiting",
    agree: "To cancel all for good",
    nothing: "None of them is waiting: there is nothing to cancel.",
  },
};

export function planTitle({ plan, canary, about, set }: PlanDialog): string {
  const { verb, adjective } = WORDS[kindOf(set)];
  if (plan === null) return `${verb} ${about}`;
  const what = `${countText(plan.matched)} ${adjective} ${plan.matched === 1 ? "delivery" : "deliveries"}`;
  return canary ? `Canary ${verb.toLowerCase()} of ${what}` : `${verb} ${what}`;
}

/** Returns at most `height` rows. */
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
  const why = whyNoActs(state) ?? note;
  const said = why === null ? [] : [row(0, { text: why, style: "yellow" })];
  if (plan === null) {
    return [...said, row(0, { text: "The daemon is counting…" }), row(2), row(0, ...keySpans([["Esc", "cancel"]]))];
  }
  const isEmpty = plan.matched === 0;
  return [
    row(3, { text: "What      ", style: "grey" }, { text: about }),
    ...(dialog.period === null
      ? []
      : [row(1, { text: "Since     ", style: "grey" }, { text: sinceText(dialog.period), style: "bold" })]),
    row(4, { text: "Fixed     ", style: "grey" }, { text: fixedText(dialog) }),
    ...(isEmpty ? [] : endpointRows(state, plan, /^(?:replay|attempt)$/.test(kindOf(dialog.set)))).map((spans) =>
      row(ENDPOINT_RANK, ...spans),
    ),
    ...plan.left_alone.slice(0, 3).map(({ endpoint, deliveries, reason }) =>
      row(ENDPOINT_RANK, {
        text: `${countText(deliveries)} not replayed: ${endpointName(state, endpoint)} (${reason.replaceAll("_", " ")})`,
        style: "yellow",
      }),
    ),
    row(6),
    ...(dialog.set.action === "cancel" || isEmpty ? [] : [row(1, ...paceSpans(dialog, plan))]),
    ...carefulLines(dialog, plan).map((text, index) =>
      index === 0 ? row(2, { text: "Careful   ", style: "yellow" }, { text }) : row(6, { text: `          ${text}` }),
    ),
    row(6),
    ...said,
    ...agreeRows(dialog, plan).map((spans) => row(0, ...spans)),
  ];
}

function sinceText(period: string): string {
  return period === "all" ? "everything that is kept" : `the last ${period}`;
}

function carefulLines({ set }: PlanDialog, { timed_out: timedOut, matched }: JobPlan): string[] {
  switch (kindOf(set)) {
    case "replay":
    case "attempt":
      if (timedOut === 0) return [];
      return [
        `${countText(timedOut)} timed out: the receiver may have handled them.`,
        "The event id stays the same, so a receiver that checks ids drops duplicates.",
      ];
    case "back-fill":
      return [];
    case "cancellation":
      return matched === 0 ? [] : ["Cancelled deliveries are never sent and cannot be replayed."];
  }
}

function fixedText({ set, plan }: PlanDialog): string {
  const { until, events } = set.filter;
  const few = Array.isArray(events) ? events.length - (plan?.matched ?? 0) : 0;
  if (few > 0)
    return `by id; at least ${few} of them ${few === 1 ? "has" : "have"} no ${WORDS[kindOf(set)].adjective} delivery`;
  return typeof until === "string" ? `received before ${until.slice(0, 19)}Z; later ones are not included` : "by id";
}

/** Widths of the table's columns, without the spaces between them. */
const WIDTHS = { count: 10, timedOut: 10, health: 22 };

/** The number of timeouts only matters for a replay. */
function endpointRows(state: State, { endpoints }: JobPlan, isReplay: boolean): Span[][] {
  const row = (count: string, timedOut: string, health: Span, endpoint: string): Span[] => [
    {
      text: [
        fit(count, WIDTHS.count, { align: "right" }),
        ...(isReplay ? [fit(timedOut, WIDTHS.timedOut, { align: "right" })] : []),
        "",
      ].join("  "),
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
  const tested = known.tested.get(id);
  if (tested?.attempt.outcome === "succeeded" && tested.at >= Date.parse(last)) {
    return { text: `test: ${tested.attempt.status_code}, ${age(now - tested.at)} ago`, style: "green" };
  }
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

function agreeRows({ set, period, canary, field, typed, sent }: PlanDialog, { matched }: JobPlan): Span[][] {
  const words = WORDS[kindOf(set)];
  const since: [string, string][] = period === null ? [] : [["s", "since when"]];
  if (sent !== null) return [[{ text: "Requested; waiting for the daemon." }], keySpans([["Esc", "leave"]])];
  if (matched === 0) return [[{ text: words.nothing }], keySpans([...since, ["Esc", "leave"]])];
  if (field === "pace")
    return [
      [],
      keySpans([
        ["Enter", "use this pace"],
        ["Esc", "cancel"],
      ]),
    ];
  const keys: [string, string][] = [
    ...since,
    ...(set.action === "cancel"
      ? []
      : ([
          ["c", canary ? "no canary" : "canary first"],
          ["p", "pace"],
        ] satisfies [string, string][])),
    ["C", "command"],
    ["Esc", "cancel"],
  ];
  if (!canary) {
    return [
      keySpans(keys),
      [{ text: `${words.agree}, type ${matched} and press Enter:  ` }, { text: `${typed} `, style: "reverse" }],
    ];
  }
  return [
    [{ text: "One per endpoint goes first; the rest follow once it is delivered." }],
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
