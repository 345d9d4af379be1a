/** Draws one event: its deliveries, every past and future attempt, and its payload. */
import type { Attempt, Event, EventDelivery, Status } from "../../src/client/operations.ts";
import { addedDetail } from "../../src/domain/deliveries/attempt.ts";
import { delayBefore, type Ladder } from "../../src/domain/deliveries/due-time.ts";
import { glyph, paint, type Look } from "../draw/look.ts";
import { age, countText, longAge, shortInstant, tookText } from "../draw/numbers.ts";
import { spanRow, type Span } from "../draw/row.ts";
import { shortUrl, shownStatus, statusCell } from "../draw/status.ts";
import { firstLines, fit, prose, wrap } from "../draw/text.ts";
import type { State } from "../model/state.ts";
import { missedBy } from "../state/lists/event-pane.ts";
import { TURN_MS } from "./lists.ts";
import { filled } from "./table.ts";
import { counted } from "../../src/domain/wording.ts";

/** Draws the event from its line `top` on. */
export function eventPage(state: State, id: string, room: { width: number; height: number; top: number }): string[] {
  const { look } = state.settings;
  const lines = linesOf(state, id, room.width);
  const top = Math.max(0, Math.min(room.top, lines.length - room.height));
  const shown = lines.slice(top, top + room.height);
  if (top + room.height < lines.length && shown.length > 0) {
    const more = `  ${glyph(look, "ellipsis")} ${counted(lines.length - top - room.height + 1, "more line", "more lines")}`;
    shown[shown.length - 1] = paint(look, "grey", fit(more, room.width, look));
  }
  return filled(shown, room.width, room.height);
}

function linesOf(state: State, id: string, width: number): string[] {
  const { look } = state.settings;
  const event = state.known.events.get(id)?.value;
  const line = (...spans: Span[]) => spanRow(look, spans, width);
  const named = (name: string, ...spans: Span[]) => line({ text: ` ${name.padEnd(11)}`, style: "grey" }, ...spans);
  const head = paint(look, "bold", line({ text: ` ${id}` }));
  if (event === undefined) {
    const gone = "this event does not exist (any more), or this key may not see it";
    return [head, line({ text: state.known.gone.has(id) ? ` ${gone}` : " …" })];
  }
  const tries = Math.max(0, ...event.deliveries.map(({ attempts }) => attempts));
  const attempts = state.known.attempts.get(id)?.value ?? [];
  return [
    head,
    named("type", { text: event.type }, { text: labelsText(event), style: "grey" }),
    named("status", statusCell(look, shownStatus(event.status, tries))),
    named("created", { text: `${event.created_at}  (${age(state.now - Date.parse(event.created_at))} ago)` }),
    named("received", { text: event.received_at }),
    ...(event.tenant === "default" ? [] : [named("tenant", { text: event.tenant })]),
    ...worstFirst(event.deliveries).flatMap((delivery) =>
      ["", ...deliveryLines(state, { event, delivery, attempts, width })].map((text) => text || line()),
    ),
    ...(event.deliveries.length === 0
      ? [line(), line({ text: " No endpoint had chosen this type when it was published." })]
      : []),
    ...moreLines(look, event, width),
    ...missedLines(state, id, width),
    line(),
    ...payloadLines(look, event, width),
  ];
}

/** Returns the publisher's id and tags. */
function labelsText({ publisher_id: id, tags }: Event): string {
  return [...(id === null ? [] : [id]), ...tags].map((label) => `  ${label}`).join("");
}

const WORST_FIRST = ["failed", "retrying", "pending", "held", "cancelled", "shadowed", "delivered"];

/** People look at an event because of what did not arrive. */
function worstFirst(deliveries: readonly EventDelivery[]): EventDelivery[] {
  const rank = ({ status, attempts }: EventDelivery) => WORST_FIRST.indexOf(shownStatus(status, attempts));
  return deliveries.toSorted((one, other) => rank(one) - rank(other));
}

function moreLines(look: Look, event: Event, width: number): string[] {
  if (!event.more_deliveries) return [];
  const shown = `${event.deliveries.length} of ${countText(event.delivery_count)} deliveries shown`;
  const text = `${shown}; for all, filter deliveries by event:${event.id}`;
  return ["", ...prose(text, width - 1, look)].map((part) =>
    spanRow(look, [{ text: ` ${part}`, style: "yellow" }], width),
  );
}

/** Says of endpoints without a delivery why they have none. */
function missedLines({ known, settings: { look } }: State, id: string, width: number): string[] {
  return missedBy(known, id).flatMap((endpoint) => {
    const sentence = known.reasons.get(`${id} ${endpoint}`);
    if (sentence === undefined) return [];
    const url = known.endpoints.get(endpoint)?.url;
    const head = spanRow(look, [{ text: ` not sent to ${url === undefined ? endpoint : shortUrl(url)}` }], width);
    const why = prose(sentence, Math.max(1, width - 3), look);
    return ["", head, ...why.map((part) => spanRow(look, [{ text: `   ${part}`, style: "grey" }], width))].map(
      (text) => text || spanRow(look, [], width),
    );
  });
}

interface OfDelivery {
  readonly event: Event;
  readonly delivery: EventDelivery;
  readonly attempts: readonly Attempt[];
  readonly width: number;
}

function deliveryLines(state: State, { delivery, attempts, width }: OfDelivery): string[] {
  const { look } = state.settings;
  const url = state.known.endpoints.get(delivery.endpoint)?.url ?? delivery.last_attempt?.url;
  const { text, style } = statusCell(look, shownStatus(delivery.status, delivery.attempts));
  const own = attempts.filter((attempt) => attempt.delivery === delivery.id);
  const shown = own.length > 0 || delivery.last_attempt === null ? own : [delivery.last_attempt];
  const ladder = ladderOf(state);
  const future = toCome(state, { delivery, attempts: own, ladder });
  const count = `${delivery.attempts} ${delivery.attempts === 1 ? "try" : "tries"}`;
  const lines = [
    spanRow(
      look,
      [{ text: ` ${text}`, style }, { text: `  ${count} to ${url === undefined ? delivery.endpoint : shortUrl(url)}` }],
      width,
    ),
  ];
  const last = shown.at(-1);
  if (last !== undefined) lines.push(...answerLines(look, last, width));
  const total = shown.length + future.length;
  for (const [index, attempt] of shown.entries())
    lines.push(attemptLine(look, { attempt, ladder, tree: branch(look, index, total) }, width));
  for (const [index, spans] of future.entries()) {
    lines.push(
      spanRow(look, [{ text: `  ${branch(look, shown.length + index, total)} `, style: "grey" }, ...spans], width),
    );
  }
  return last === undefined ? lines : [...lines, ...bodyLines(look, last, width)];
}

function branch(look: Look, index: number, total: number): string {
  if (total === 1) return glyph(look, "rule");
  return glyph(look, index === 0 ? "first" : index === total - 1 ? "last" : "middle") + glyph(look, "rule");
}

interface OfAttempt {
  readonly attempt: Attempt;
  readonly ladder: Ladder | null;
  readonly tree: string;
}

function attemptLine(look: Look, { attempt, ladder, tree }: OfAttempt, width: number): string {
  const { number, started_at, outcome, status_code, error, duration_ms, detail } = attempt;
  const style = outcome === "succeeded" ? "green" : outcome === "failed" ? "red" : "yellow";
  const answer = String(status_code ?? error ?? outcome);
  return spanRow(
    look,
    [
      { text: `  ${tree} `, style: "grey" },
      { text: `${String(number).padStart(2)}  ${placeText(attempt, ladder).padEnd(8)} ${shortInstant(started_at)}  ` },
      { text: answer.padEnd(8), style },
      {
        text: ` ${tookText(duration_ms).padStart(7)}  ${phasesText(attempt)}  ${addedDetail(outcome, status_code, detail)}`,
      },
    ],
    width,
  );
}

/** Returns the attempt's place on the ladder, as the delay before it. */
function placeText({ trigger, retry }: Attempt, ladder: Ladder | null): string {
  if (trigger === "manual" || trigger === "test") return trigger;
  if (retry === null) return trigger;
  const wait = retry === 0 ? "at once" : ladder === null ? `retry ${retry}` : waited(delayBefore(ladder, retry));
  return trigger === "replay" && retry === 0 ? "replay" : wait;
}

function waited(delay: number): string {
  return delay < 1000 ? `+${Math.round(delay)}ms` : `+${age(delay)}`;
}

/** Returns the daemon's ladder. Null until it is known, and if the daemon is too old to report it. */
function ladderOf({ known }: State): Ladder | null {
  const { retry_delays_seconds: delays }: Partial<Status> = known.status?.value ?? {};
  return delays?.map((seconds) => seconds * 1000) ?? null;
}

/** Returns the duration of each step. */
function phasesText({ phases: { dns_ms, connect_ms, tls_ms, first_byte_ms } }: Attempt): string {
  const marks = [
    ["dns", dns_ms],
    ["tcp", connect_ms],
    ["tls", tls_ms],
    ["answer", first_byte_ms],
  ] as const;
  let before = 0;
  const parts: string[] = [];
  for (const [name, at] of marks) {
    if (at === null) continue;
    parts.push(`${name} ${Math.round(Math.max(0, at - before))}`);
    before = at;
  }
  return parts.join(" ");
}

/** Lists the attempts that remain if each one fails. */
function toCome(
  state: State,
  { delivery, attempts, ladder }: Pick<OfDelivery, "delivery" | "attempts"> & { readonly ladder: Ladder | null },
): Span[][] {
  const { waits_behind: behind } = delivery;
  if (behind) {
    const next = behind.next_attempt_at;
    const isNext = next === null ? "" : `, ${whenText(state, delivery.endpoint, Date.parse(next) - state.now)}`;
    const how = behind.holds_key
      ? "which failed and holds their ordering key"
      : `attempt ${behind.attempts + 1}${isNext}`;
    return [[{ text: `    waits behind ${behind.event}, ${how}`, style: "cyan" }]];
  }
  if (delivery.next_attempt_at === null) return [];
  const when = whenText(state, delivery.endpoint, Date.parse(delivery.next_attempt_at) - state.now);
  const next: Span[] = [
    { text: `${String(delivery.attempts + 1).padStart(2)}  ${when}`, style: "cyan" },
    { text: `  ${shortInstant(delivery.next_attempt_at)}` },
  ];
  if (ladder === null) return [next];
  const last = attempts.findLast(({ retry }) => retry !== null) ?? delivery.last_attempt;
  // A replay that has not been attempted yet begins at the bottom of the ladder.
  const place = last?.retry === null || last?.retry === undefined || last.retry >= ladder.length ? 0 : last.retry + 1;
  const later = ladder
    .slice(place)
    .map((delay, index): Span[] => [
      { text: `${String(delivery.attempts + 2 + index).padStart(2)}  ${waited(delay)} if that fails`, style: "grey" },
    ]);
  return [next, ...later];
}

function whenText({ known }: State, endpoint: string, left: number): string {
  if (left > 0) return `in ${longAge(left)}`;
  if (left >= -TURN_MS) return "due now";
  if ((known.status?.value.paused ?? null) !== null) return "due, but sending is paused";
  const most = known.endpoints.get(endpoint)?.max_in_flight ?? null;
  const turn = most === null ? "" : `, ${most} at a time`;
  return `due: in flight or waiting its turn${turn}`;
}

/** Shows the last response. It is above the attempts, which would push it off a short screen. */
function answerLines(look: Look, attempt: Attempt, width: number): string[] {
  const { status_code, detail, outcome, response_headers, response_body, response_truncated } = attempt;
  const size = `${response_truncated ? "over " : ""}${counted(response_body.length, "character", "characters")}`;
  const isCompressed = response_headers["content-encoding"] !== undefined;
  const answer = [status_code, isCompressed ? "" : size, response_headers["content-type"] ?? ""]
    .filter((part) => part !== "")
    .join(", ");
  const text = status_code === null ? (detail === "" ? outcome : detail) : answer;
  const head = spanRow(look, [{ text: "   last answer  ", style: "grey" }, { text }], width);
  const [line] = bodyOf(look, attempt, width);
  const more = outcome === "succeeded" ? addedDetail(outcome, status_code, detail) : "";
  const lines =
    more === ""
      ? [head]
      : [
          head,
          ...wrap(more, Math.max(1, width - 3), look).map((part) =>
            spanRow(look, [{ text: `   ${part}`, style: "yellow" }], width),
          ),
        ];
  return line === undefined ? lines : [...lines, bodyLine(look, line, width)];
}

/** Shows the whole body, if that is more than was already shown. */
function bodyLines(look: Look, attempt: Attempt, width: number): string[] {
  const lines = bodyOf(look, attempt, width);
  if (lines.length <= 1) return [];
  const head = spanRow(look, [{ text: "   in full", style: "grey" }], width);
  return [head, ...firstLines(lines, BODY_LINES, width - 5, look).map((line) => bodyLine(look, line, width))];
}

const BODY_LINES = 12;

function bodyOf(look: Look, { response_body }: Attempt, width: number): string[] {
  return response_body === "" ? [] : wrap(response_body, Math.max(1, width - 5), look);
}

function bodyLine(look: Look, text: string, width: number): string {
  return spanRow(look, [{ text: `   ${glyph(look, "bar")} `, style: "grey" }, { text }], width);
}

function payloadLines(look: Look, { data, erased_at: erasedAt }: Event, width: number): string[] {
  const head = spanRow(look, [{ text: " payload", style: "grey" }], width);
  if (data === null)
    return [head, spanRow(look, [{ text: erasedAt === null ? "   lost: the store is damaged" : "   erased" }], width)];
  const text = JSON.stringify(data, null, 2);
  return [
    head,
    ...wrap(text, Math.max(1, width - 3), look)
      .slice(0, 500)
      .map((part) => spanRow(look, [{ text: `   ${part}` }], width)),
  ];
}
