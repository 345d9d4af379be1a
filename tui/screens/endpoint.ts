/** Draws the page of an endpoint: its health, its settings, and its deliveries. */
import { authText } from "../../src/client/auth-text.ts";
import { adviceOnFailure } from "../../src/client/advice.ts";
import type { Attempt, Endpoint, EndpointWithHealth } from "../../src/client/operations.ts";
import { typeNotes } from "../../src/client/type-notes.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/endpoints/endpoint.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import { glyph, paint, type Glyph, type Look, type Style } from "../draw/look.ts";
import { age, countText, shortInstant } from "../draw/numbers.ts";
import { spanRow, type Span } from "../draw/row.ts";
import { FATES, statusCell } from "../draw/status.ts";
import { firstLines, prose } from "../draw/text.ts";
import { endpointHeadRows } from "../layout.ts";
import type { EndpointPlace, State } from "../model/state.ts";
import { switchesAt } from "../state/act-answers.ts";
import { hours, msText, shareText, stateOf } from "./endpoints.ts";
import { deliveryRows } from "./lists.ts";
import { counted } from "../../src/domain/wording.ts";
import { KEY } from "../keys/names.ts";

/** The maximum number of rows for the meaning of a failure. */
const MEANING_ROWS = 2;

export function endpointPage(state: State, place: EndpointPlace, room: { width: number; height: number }): string[] {
  const headRows = endpointHeadRows(room.height);
  const rule = paint(state.settings.look, "grey", glyph(state.settings.look, "rule").repeat(room.width));
  const head = headOf(state, place.id, room.width).slice(0, headRows - 1);
  while (head.length < headRows - 1) head.push(" ".repeat(room.width));
  const list = { width: room.width, height: room.height - headRows };
  return [...head, rule, ...deliveryRows(state, place.list, list)];
}

/** Puts the most important rows first, because a short screen shows only some of them. */
function headOf(state: State, id: string, width: number): string[] {
  const { look } = state.settings;
  const { known } = state;
  const endpoint = known.gone.has(id) ? undefined : (known.health.get(id)?.value ?? known.endpoints.get(id));
  const row = (name: string, ...spans: Span[]) =>
    spanRow(look, [{ text: `  ${name.padEnd(10)}`, style: "grey" }, ...spans], width);
  if (endpoint === undefined) {
    return [row("endpoint", { text: known.gone.has(id) ? `${id} is deleted; its deliveries stay listed` : id })];
  }
  const stats = known.endpointStats.get(id)?.value;
  return [
    titleRow(state, endpoint, width),
    ...whyRows(state, endpoint, width),
    ...heldKeysOf(state, id).map((text) => row("held keys", { text, style: "red" })),
    row("url", { text: endpoint.url }),
    row("types", { text: typesText(state, endpoint) }),
    // An older daemon has no filters.
    ...(endpoint.filter ? [row("filter", { text: JSON.stringify(endpoint.filter) })] : []),
    ...authRows(endpoint).map((text) => row("auth", { text })),
    row("waiting", { text: waitingText(state, id) }),
    row("last", { text: lastText(state, id) }),
    row("attempts", ...attemptSpans(look, known.lastAttempts.get(id)?.value, width - 12)),
    row("24 h", {
      text:
        stats === undefined
          ? glyph(look, "ellipsis")
          : `${counted(stats.attempts.total, "attempt", "attempts")}, ${shareText(stats.attempts)} ok, p50 ${msText(stats.duration_ms.p50)}, p95 ${msText(stats.duration_ms.p95)}`,
    }),
    row("sends", ...sendsSpans(state, endpoint)),
    row("by hour", { text: stats === undefined ? "" : hours(look, stats.series), style: "red" }, { text: "  failed" }),
    row("created", { text: createdText(endpoint) }),
  ];
}

function authRows(endpoint: Endpoint): string[] {
  const text = authText(endpoint);
  return text === null ? [] : [text];
}

/** Explains what fails at the endpoint and what that means. Empty if nothing fails. */
function whyRows(state: State, endpoint: Endpoint, width: number): string[] {
  const { known, now, settings } = state;
  const { look } = settings;
  const groups = known.causes.get(endpoint.id)?.value ?? [];
  const [latest, ...others] = groups.toSorted((one, other) => Date.parse(other.last_at) - Date.parse(one.last_at));
  if (latest === undefined) return [];
  const lasts = now - Date.parse(latest.first_at);
  const { meaning } = adviceOnFailure(latest, known.samples.get(latest.sample_attempt), lasts);
  const more = others.length === 0 ? "" : `; ${counted(others.length, "more cause", "more causes")}`;
  const missing = `${countText(latest.failed)} failed, ${countText(latest.pending + latest.held)} wait${more}`;
  const cause = `${causeText(latest.error, latest.status_code)}, since ${shortInstant(latest.first_at)}Z: ${missing}`;
  const isOn = (known.health.get(endpoint.id)?.value.health.consecutive_failures ?? 0) > 0;
  const line = (name: string, text: string, style: Style | undefined) =>
    spanRow(
      look,
      [
        { text: `  ${name.padEnd(10)}`, style: "grey" },
        { text, style },
      ],
      width,
    );
  return [
    line("why", isOn ? cause : `it was ${cause}`, isOn ? "red" : "yellow"),
    ...firstLines(prose(meaning, width - 13, look), MEANING_ROWS, width - 13, look).map((text) =>
      line("", text, undefined),
    ),
  ];
}

/** Says which keys are held. An older daemon does not report them. */
function heldKeysOf({ known, now, settings }: State, id: string): string[] {
  const held = (known.health.get(id)?.value.health as Partial<EndpointWithHealth["health"]> | undefined)?.held_keys;
  if (!held) return [];
  const { count, since, ordering_key: key, event } = held;
  const oldest = count === 1 ? key : `${countText(count)}, the oldest is ${key}`;
  const todo = settings.readOnly ? "" : `; ${KEY.freeKey} frees it`;
  return [`${oldest}, for ${age(now - Date.parse(since))}${todo}; ${event} failed`];
}

function titleRow(state: State, endpoint: Endpoint, width: number): string {
  const { look } = state.settings;
  const { text, style } = statusCell(look, stateOf(state, endpoint));
  const why = endpoint.disabled_reason === null ? "" : ` by the daemon (${endpoint.disabled_reason})`;
  const held = endpoint.enabled ? "" : `; new events are ${FATES[endpoint.when_disabled]}`;
  return spanRow(
    look,
    [{ text: ` ${text}${why}${held}`, style }, { text: `  ${endpoint.id}  ${endpoint.description}` }],
    width,
  );
}

/** Adds what the patterns match, and which types are deprecated, once the catalogue has been read. */
function typesText({ known }: State, { events }: Endpoint): string {
  const notes = known.types === null ? [] : typeNotes(events, known.types);
  return [...events, ...(notes.length === 0 ? [] : [`(${notes.join("; ")})`])].join("  ");
}

function waitingText({ known, settings: { look } }: State, id: string): string {
  const health = known.health.get(id)?.value.health;
  if (health === undefined) return glyph(look, "ellipsis");
  const { pending, held, failed } = health;
  return `${countText(pending)} pending, ${countText(held)} held, ${countText(failed)} failed`;
}

function lastText({ known, now, settings: { look } }: State, id: string): string {
  const health = known.health.get(id)?.value.health;
  if (health === undefined) return glyph(look, "ellipsis");
  const since = (at: string | null) =>
    at === null ? "never" : `${age(now - Date.parse(at))} ago (${shortInstant(at)}Z)`;
  const inARow = health.consecutive_failures === 0 ? "" : `, ${countText(health.consecutive_failures)} in a row`;
  return `success ${since(health.last_success_at)}, failure ${since(health.last_failure_at)}${inARow}`;
}

const OUTCOMES: Readonly<Record<Attempt["outcome"], { readonly glyph: Glyph; readonly style: Style }>> = {
  succeeded: { glyph: "delivered", style: "green" },
  failed: { glyph: "failed", style: "red" },
  interrupted: { glyph: "interrupted", style: "yellow" },
};

/** Draws one glyph for each attempt, the latest last. `t` is a timeout. */
function attemptSpans(look: Look, attempts: readonly Attempt[] | undefined, room: number): Span[] {
  if (attempts === undefined) return [{ text: glyph(look, "ellipsis") }];
  if (attempts.length === 0) return [{ text: `none yet: press ${KEY.test} to send a test event` }];
  return attempts
    .slice(0, Math.max(0, room))
    .toReversed()
    .map(({ outcome, error }) => {
      const { glyph: name, style } = OUTCOMES[outcome];
      return { text: error === "timeout" ? "t" : glyph(look, name), style };
    });
}

/** Shows only the names of headers. Their values may be secrets, and are unknown here. */
function sendsSpans(state: State, endpoint: Endpoint): Span[] {
  const { id, headers, rate_per_second: rate, max_in_flight: most, signatures } = endpoint;
  const { format, ordering, after_failure: afterFailure } = endpoint;
  const at = switchesAt(state, id);
  const names = Object.keys(headers);
  const others = [
    ...(format === DEFAULT_SETTINGS.format ? [] : [`format ${format}`]),
    ...(ordering === DEFAULT_SETTINGS.ordering ? [] : [`in order by key, and after a failure ${afterFailure}`]),
    names.length === 0 ? "no custom headers" : `headers ${names.join(", ")}`,
    // An older daemon has no choice of signatures.
    ...(signatures?.includes("ed25519") ? ["signed with Ed25519 too: webhookd signing-keys show"] : []),
    ...(rate === null ? [] : [`at most ${rate} per second`]),
    ...(most === null ? [] : [`at most ${most} at a time`]),
  ];
  const rotation: Span[] =
    at === null ? [] : [{ text: `next secret takes over in ${age(Date.parse(at) - state.now)}`, style: "yellow" }];
  return [...rotation, { text: `${rotation.length > 0 ? "; " : ""}${others.join("; ")}` }];
}

function createdText({ created_at: created, updated_at: updated, tenant, uid, metadata }: Endpoint): string {
  return [
    created,
    ...(updated === created ? [] : [`changed ${updated}`]),
    ...(tenant === "default" ? [] : [`tenant ${tenant}`]),
    ...(uid === null ? [] : [`uid ${uid}`]),
    ...(Object.keys(metadata).length === 0 ? [] : [`metadata ${JSON.stringify(metadata)}`]),
  ].join(", ");
}
