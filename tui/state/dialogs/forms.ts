/** Defines the forms and their initial values. */
import type { Endpoint, Job } from "../../../src/client/operations.ts";
import { AFTER_FAILURE, ORDERINGS } from "../../../src/domain/deliveries/ordering.ts";
import { BODY_FORMATS } from "../../../src/domain/endpoints/body-format.ts";
import { DEFAULT_SETTINGS } from "../../../src/domain/endpoints/endpoint.ts";
import { chosenOf, isPattern } from "../../../src/domain/events/pattern.ts";
import type { Field, FormDialog } from "../../model/dialog.ts";
import { countText } from "../../draw/numbers.ts";
import { newField } from "./fields.ts";
import { filterText } from "./filter-text.ts";
import { KEY } from "../../keys/names.ts";

const BLANK = { at: 0, facts: [], fault: null, sent: null } as const;

export function addForm(): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "add" },
    title: "Add endpoint",
    fields: settings({ url: "", events: [], filter: null, description: "", ...DEFAULT_CHOICES }),
    yes: "add",
  };
}

export function editForm(before: Endpoint): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "edit", before },
    title: `Edit ${before.id}`,
    fields: settings(before),
    yes: "change",
  };
}

type Choices = Pick<Endpoint, "signatures" | "format" | "ordering" | "after_failure">;
type Settings = Pick<Endpoint, "url" | "events" | "filter" | "description"> & Choices;

export const DEFAULT_CHOICES: Choices = {
  signatures: ["hmac"],
  format: DEFAULT_SETTINGS.format,
  ordering: DEFAULT_SETTINGS.ordering,
  after_failure: DEFAULT_SETTINGS.afterFailure,
};

function settings({ url, events, filter, description, ...chosen }: Settings): Field[] {
  const choice = (name: keyof Choices, label: string, choices: readonly string[]) =>
    newField({ name, label, takes: "choice", choices }, [chosen[name]].flat().join(" "));
  return [
    newField({ name: "url", label: "URL", hint: "where to send its events, https://…" }, url),
    newField(
      {
        name: "events",
        label: "Event types",
        takes: "types",
        hint: "separated by spaces; budget.* or * match more; or all",
      },
      events.join(" "),
    ),
    newField(
      {
        name: "filter",
        label: "Filter",
        takes: "filter",
        hint: 'JSON such as {"data": {"amount": {"$gt": 1000}}}; empty for every event of these types',
      },
      filterText(filter),
    ),
    newField({ name: "description", label: "Description", hint: "for people to read; optional" }, description),
    choice("signatures", "Signatures", SIGNATURE_CHOICES),
    choice("format", "Format", BODY_FORMATS),
    choice("ordering", "Ordering", ORDERINGS),
    choice("after_failure", "After failure", AFTER_FAILURE),
  ];
}

/** The signatures in `webhook-signature`, beside that of the body, which is always sent. */
const SIGNATURE_CHOICES = ["hmac", "hmac ed25519", "ed25519"];

const WHICH = newField({ name: "typed", label: "To confirm", hint: "type its id, the end of its id, or its URL" });

export function rotateForm(endpoint: Endpoint): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "rotate", endpoint },
    title: `Rotate the secret of ${endpoint.id}`,
    facts: [
      endpoint.url,
      "",
      "A next secret is created and shown. Until it takes over, X-Service-Signature is made with the current one and " +
        `webhook-signature with both. Make sure that the receiver accepts both, then press ${KEY.rotate} again to complete the rotation.`,
      "",
    ],
    fields: [
      newField(
        { name: "overlap_seconds", label: "Overlap", hint: "time until the next one takes over: 0s to 7d" },
        "24h",
      ),
      WHICH,
    ],
    yes: "rotate",
  };
}

export function deleteForm(endpoint: Endpoint): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "delete", endpoint },
    title: `Delete ${endpoint.id}`,
    facts: [
      endpoint.url,
      "",
      "Nothing more is sent to it. Its past deliveries stay listed. This cannot be undone.",
      "",
    ],
    fields: [WHICH],
    yes: "delete",
  };
}

/** Sends a test event to one endpoint, or to one of several. `type` is the initial type, `known` the catalogue. */
export function testForm(
  endpoints: readonly (Endpoint | string)[],
  type: string | null,
  known: readonly string[],
): FormDialog {
  const ids = endpoints.map((one) => (typeof one === "string" ? one : one.id));
  const only = endpoints.length === 1 && typeof endpoints[0] === "object" ? endpoints[0] : null;
  // Until the catalogue has been read, it is unknown what a pattern matches.
  const own = (only?.events ?? []).flatMap((name) => (isPattern(name) ? chosenOf([name], known) : [name]));
  const first = type === null || (own.length > 0 && !own.includes(type)) ? (own[0] ?? "") : type;
  const which = newField({ name: "endpoint", label: "Endpoint", takes: "endpoint", choices: ids }, ids[0]);
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "test", endpoint: only },
    title: only === null ? "Send a test event" : `Send a test event to ${only.id}`,
    facts: [
      ...(only === null ? [] : [only.url, ""]),
      "One attempt with the sample of a type, outside the ladder; not in lists or statistics.",
      "",
    ],
    fields: [
      ...(only === null ? [which] : []),
      newField({ name: "type", label: "Event type", takes: "type", choices: own }, first),
    ],
    yes: "send",
  };
}

export function pauseForm(): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "pause" },
    title: "Pause sending",
    facts: [
      "No attempt to any endpoint starts until sending is resumed, not even after a restart. Events are still accepted, " +
        "nothing is lost, and no attempt is used up in the meantime.",
      "",
    ],
    fields: [newField({ name: "reason", label: "Reason", hint: "for the person who will resume it" })],
    yes: "pause",
  };
}

/** Resumes a job whose canary failed. Enter alone sends another canary, but sending all the others has to be typed. */
export function resumeForm(job: Job): FormDialog {
  const { id, paused_reason: why, matched, done, skipped } = job;
  const left = Math.max(0, matched - done - skipped);
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "resume", job },
    title: `Resume ${id}`,
    facts: [
      `It paused itself: ${why}.`,
      "",
      "canary: one more per endpoint goes first; the rest follow once it is delivered.",
      `send all: the remaining ${countText(left)} ${left === 1 ? "is" : "are"} sent at ${job.rate_per_second}/s to each endpoint, whatever the answers.`,
      "",
    ],
    fields: [newField({ name: "after", label: "Next step", hint: "canary, or type: send all" }, "canary")],
    yes: "resume",
  };
}
