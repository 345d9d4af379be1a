/** Turns a completed form into a request, or into a list of its mistakes. */
import type { Endpoint, Job } from "../../../src/client/operations.ts";
import { patternFault } from "../../../src/domain/events/pattern.ts";
import { nearest } from "../../../src/domain/nearest.ts";
import { parseDuration } from "../../../src/config/units.ts";
import type { FormDialog } from "../../model/dialog.ts";
import { shortId } from "../../draw/numbers.ts";
import { shortUrl } from "../../draw/status.ts";
import type { ActDraft } from "../../model/call.ts";
import type { State } from "../../model/state.ts";
import { textOf } from "./fields.ts";
import { DEFAULT_CHOICES } from "./forms.ts";
import { filterText, readFilterText } from "./filter-text.ts";

/** Mistakes by the name of the field. The empty name is for the whole form. */
export interface Faults {
  readonly faults: Readonly<Record<string, string>>;
}

const MAX_OVERLAP_MS = 7 * 86_400_000;
const ID_TAIL = 8;
/** The daemon ends the attempt, and its wait for it, long before this. */
const TEST_TIMEOUT_MS = 120_000;

export function requestOf(form: FormDialog, state: State): ActDraft | Faults {
  const purpose = form.for;
  switch (purpose.kind) {
    case "add":
      return registration(form, state);
    case "edit":
      return change(form, purpose.before, state);
    case "rotate":
      return rotation(form, purpose.endpoint);
    case "delete":
      return deletion(form, purpose.endpoint);
    case "test":
      return test(form, state);
    case "pause":
      return pause(form);
    case "resume":
      return resume(form, purpose.job);
  }
}

function registration(form: FormDialog, state: State): ActDraft | Faults {
  const faults = settingFaults(form, state);
  if (faults !== null) return faults;
  const { filter, url, events, description, ...chosen } = settingsIn(form, state);
  const others = CHOICES.filter((name) => String(chosen[name]) !== String(DEFAULT_CHOICES[name]));
  const body = {
    url,
    events,
    description,
    ...(filter !== null && { filter }),
    ...Object.fromEntries(others.map((name) => [name, chosen[name]])),
  };
  return { label: `add ${shortUrl(body.url)}`, request: { operation: "registerEndpoint", ask: { body } }, event: null };
}

function change(form: FormDialog, before: Endpoint, state: State): ActDraft | Faults {
  const faults = settingFaults(form, state);
  if (faults !== null) return faults;
  const changes = changesOf(form, before, state);
  if (changes.length === 0) return { faults: { "": "Nothing has changed. Press Esc to close." } };
  const after = settingsIn(form, state);
  const body = Object.fromEntries(changes.map(({ name }) => [name, after[name]]));
  const { id } = before;
  return {
    label: `change ${shortId(id)}`,
    request: { operation: "changeEndpoint", ask: { id, body } },
    event: null,
  };
}

/** The fields that are chosen with Up and Down. */
const CHOICES = ["signatures", "format", "ordering", "after_failure"] as const;
const SETTINGS = ["url", "events", "filter", "description", ...CHOICES] as const;

export interface Change {
  readonly name: (typeof SETTINGS)[number];
  /** As it is typed. */
  readonly before: string;
  readonly after: string;
}

/** Returns only the fields that differ. */
export function changesOf(form: FormDialog, before: Endpoint, state: State): Change[] {
  const { filter } = before;
  const [was, is] = [textsOf({ ...before, filter: filter ?? null }), textsOf(settingsIn(form, state))];
  // A filter that cannot be read yet is shown as it is.
  const after = {
    ...is,
    filter: "fault" in readFilterText(textOf(form, "filter")) ? textOf(form, "filter") : is.filter,
  };
  return SETTINGS.map((name) => ({ name, before: was[name], after: after[name] })).filter(
    (one) => one.before !== one.after,
  );
}

type Settings = Pick<Endpoint, (typeof SETTINGS)[number]>;

/** Returns what is typed. A filter that cannot be read is null. */
function settingsIn(form: FormDialog, state: State): Settings {
  const filter = readFilterText(textOf(form, "filter"));
  return {
    url: textOf(form, "url"),
    events: typesIn(form, state),
    filter: "fault" in filter ? null : filter.document,
    description: textOf(form, "description"),
    signatures: words(textOf(form, "signatures")) as Settings["signatures"],
    format: textOf(form, "format") as Settings["format"],
    ordering: textOf(form, "ordering") as Settings["ordering"],
    after_failure: textOf(form, "after_failure") as Settings["after_failure"],
  };
}

function textsOf(settings: Settings): Readonly<Record<Change["name"], string>> {
  const { events, filter, description, signatures } = settings;
  return {
    ...settings,
    events: events.join(" "),
    filter: filterText(filter),
    description: description.trim(),
    signatures: signatures.join(" "),
  };
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function rotation(form: FormDialog, endpoint: Endpoint): ActDraft | Faults {
  const overlap = parseDuration(textOf(form, "overlap_seconds"));
  const isFair = overlap !== null && overlap <= MAX_OVERLAP_MS && overlap % 1000 === 0;
  const faults = {
    ...(!isFair && { overlap_seconds: "A whole number of seconds up to 7d, such as 0s, 30m or 24h" }),
    ...identityFaults(form, endpoint),
  };
  if (!isFair || "typed" in faults) return { faults };
  const ask = { id: endpoint.id, body: { overlap_seconds: overlap / 1000 } };
  return { label: `rotate ${shortId(endpoint.id)}`, request: { operation: "rotateSecret", ask }, event: null };
}

function deletion(form: FormDialog, endpoint: Endpoint): ActDraft | Faults {
  const faults = identityFaults(form, endpoint);
  if ("typed" in faults) return { faults };
  const { id } = endpoint;
  return { label: `delete ${shortId(id)}`, request: { operation: "deleteEndpoint", ask: { id } }, event: null };
}

/** The typed text must name this endpoint and no other. */
function identityFaults(form: FormDialog, { id, url }: Endpoint): { readonly typed?: string } {
  const typed = textOf(form, "typed");
  const names = [id, id.slice(-ID_TAIL), url, shortUrl(url)];
  return names.includes(typed)
    ? {}
    : { typed: `That does not match. Type ${id.slice(-ID_TAIL)}, or its whole id or URL` };
}

function test(form: FormDialog, { known }: State): ActDraft | Faults {
  const [type, which] = [textOf(form, "type"), form.fields.find(({ name }) => name === "endpoint")];
  const id = form.for.kind === "test" && form.for.endpoint !== null ? form.for.endpoint.id : textOf(form, "endpoint");
  const names = known.types?.map(({ name }) => name);
  const faults = {
    ...(which !== undefined && !which.choices.includes(id) && { endpoint: "Choose one with Up and Down" }),
    ...(names !== undefined && !names.includes(type) && { type: unknownType(type, names) }),
  };
  if (Object.keys(faults).length > 0) return { faults };
  const ask = { id, query: { wait: true }, body: { type }, timeoutMs: TEST_TIMEOUT_MS };
  return { label: `test ${shortId(id)}`, request: { operation: "sendTestEvent", ask }, event: null };
}

function pause(form: FormDialog): ActDraft | Faults {
  const reason = textOf(form, "reason");
  if (reason === "") return { faults: { reason: "Why? The next person must know when to resume it" } };
  return { label: "pause sending", request: { operation: "pauseDaemon", ask: { body: { reason } } }, event: null };
}

function resume(form: FormDialog, { id }: Job): ActDraft | Faults {
  const body = { canary: { canary: true }, "send all": { send_all: true } }[textOf(form, "after").toLowerCase()];
  if (body === undefined) return { faults: { after: "Type canary, or send all" } };
  return { label: `resume ${shortId(id)}`, request: { operation: "resumeJob", ask: { id, body } }, event: null };
}

/** Checks only what can be known here. The daemon decides whether a URL may be called. */
function settingFaults(form: FormDialog, state: State): Faults | null {
  const types = typesIn(form, state);
  const known = state.known.types?.map(({ name }) => name);
  const filter = readFilterText(textOf(form, "filter"));
  const notChosen = form.fields.filter(
    ({ takes, choices, line }) => takes === "choice" && !choices.includes(line.text),
  );
  const wrong = known && types.map((type) => nameFault(type, known)).find((fault) => fault !== null);
  const faults = {
    ...(textOf(form, "url") === "" && { url: "Where should the events go? For example, https://example.com/hook" }),
    ...(types.length === 0 && { events: "Name at least one event type, or all" }),
    ...(wrong !== undefined && { events: wrong }),
    ...("fault" in filter && { filter: filter.fault }),
    ...Object.fromEntries(notChosen.map(({ name }) => [name, "Choose with Up and Down"])),
  };
  return Object.keys(faults).length === 0 ? null : { faults };
}

/** Returns what is wrong with a name that an endpoint is to choose. */
function nameFault(name: string, known: readonly string[]): string | null {
  if (known.includes(name)) return null;
  if (!name.includes("*")) return unknownType(name, known);
  const fault = patternFault(name, known);
  return fault === null ? null : `${name} ${fault}`;
}

function unknownType(type: string, known: readonly string[]): string {
  const near = nearest(type, known);
  return `There is no event type "${type}". ${near === null ? `The types are ${known.join(", ")}` : `Did you mean ${near}?`}`;
}

function typesIn(form: FormDialog, { known }: State): string[] {
  const types = words(textOf(form, "events"));
  if (types.length === 1 && types[0] === "all" && known.types !== null)
    return known.types.filter(({ archived }) => !archived).map(({ name }) => name);
  return [...new Set(types)];
}
