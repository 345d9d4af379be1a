/** The forms there are, and how each begins. */
import type { Endpoint, Job } from "../../../src/client/answers.ts";
import type { Field, FormDialog } from "../../model/dialog.ts";
import { countText } from "../../draw/numbers.ts";
import { newField } from "./fields.ts";

const BLANK = { at: 0, facts: [], fault: null, sent: null } as const;

export function addForm(): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "add" },
    title: "Add endpoint",
    fields: settings({ url: "", events: [], description: "" }),
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

function settings({ url, events, description }: Pick<Endpoint, "url" | "events" | "description">): Field[] {
  return [
    newField({ name: "url", label: "URL", hint: "https://, where the events go" }, url),
    newField(
      { name: "events", label: "Event types", takes: "types", hint: "with spaces between, or all" },
      events.join(" "),
    ),
    newField({ name: "description", label: "Description", hint: "for people; may stay empty" }, description),
  ];
}

const WHICH = newField({ name: "typed", label: "To be sure", hint: "type its id, the end of it, or its URL" });

export function rotateForm(endpoint: Endpoint): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "rotate", endpoint },
    title: `Rotate the secret of ${endpoint.id}`,
    facts: [
      endpoint.url,
      "",
      "A next secret is made and shown once. Until it takes over, X-Service-Signature is made with the current one and " +
        "webhook-signature with both: let the receiver accept both, then press S again to complete the rotation.",
      "",
    ],
    fields: [
      newField({ name: "overlap_seconds", label: "Overlap", hint: "until the next one takes over: 0s to 7d" }, "24h"),
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
      "Nothing more is sent to it. What was sent to it stays listed. There is no way back.",
      "",
    ],
    fields: [WHICH],
    yes: "delete",
  };
}

/** To one endpoint, or to one of several; `type` is what it begins with. */
export function testForm(endpoints: readonly (Endpoint | string)[], type: string | null): FormDialog {
  const ids = endpoints.map((one) => (typeof one === "string" ? one : one.id));
  const only = endpoints.length === 1 && typeof endpoints[0] === "object" ? endpoints[0] : null;
  const own = only?.events ?? [];
  const first = type === null || (own.length > 0 && !own.includes(type)) ? (own[0] ?? "") : type;
  const which = newField({ name: "endpoint", label: "Endpoint", takes: "endpoint", choices: ids }, ids[0]);
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "test", endpoint: only },
    title: only === null ? "Send a test event" : `Send a test event to ${only.id}`,
    facts: [
      ...(only === null ? [] : [only.url, ""]),
      "One attempt with the sample of a type, outside the ladder; lists and statistics leave it out.",
      "",
    ],
    fields: [
      ...(only === null ? [which] : []),
      newField({ name: "type", label: "Event type", takes: "type", choices: own }, first),
    ],
    yes: "send",
  };
}

export function brakeForm(): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "brake" },
    title: "Pull the brake",
    facts: [
      "No attempt starts to any endpoint until somebody releases it, also over a restart. Publishes go on, nothing is " +
        "lost, and no try is used up meanwhile.",
      "",
    ],
    fields: [newField({ name: "reason", label: "Reason", hint: "whoever comes next will want to know" })],
    yes: "pull the brake",
  };
}

/** After a canary that failed: another one by Enter alone; all that is left has to be typed. */
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
      "canary: one more for each endpoint goes first; the rest follows where it is delivered.",
      `send all: the ${countText(left)} that ${left === 1 ? "is" : "are"} left go out at ${job.rate_per_second}/s to each endpoint, whatever comes back.`,
      "",
    ],
    fields: [newField({ name: "after", label: "Go on with", hint: "canary, or type: send all" }, "canary")],
    yes: "resume",
  };
}
