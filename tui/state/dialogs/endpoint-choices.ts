/** Dialogs that disable or enable an endpoint, or end the rotation of its secret, with one key for each choice. */
import type { Endpoint, EndpointWithHealth } from "../../../src/client/operations.ts";
import type { ChoiceDialog } from "../../model/dialog.ts";
import { shortId } from "../../draw/numbers.ts";
import type { ActDraft, Request } from "../../model/call.ts";

type HeldKeys = NonNullable<EndpointWithHealth["health"]["held_keys"]>;

export function switchChoice(endpoint: Endpoint): ChoiceDialog {
  return endpoint.enabled ? disableChoice(endpoint) : enableChoice(endpoint);
}

function disableChoice({ id, url }: Endpoint): ChoiceDialog {
  const disable = (when: "hold" | "skip"): ActDraft => ({
    label: `disable ${shortId(id)}`,
    request: { operation: "changeEndpoint", ask: { id, body: { enabled: false, when_disabled: when } } },
    event: null,
  });
  return {
    kind: "choice",
    title: `Disable ${id}`,
    facts: [url, "", "Nothing is sent to it until it is enabled again. No attempt is used up in the meantime."],
    waiting: { endpoint: id, fate: "kept" },
    choices: [
      { key: "h", label: "hold: its new events are kept, and sent when it is enabled", act: disable("hold") },
      { key: "s", label: "skip: its new events are never sent to it", act: disable("skip") },
    ],
  };
}

function enableChoice({ id, url }: Endpoint): ChoiceDialog {
  const request: Request = { operation: "changeEndpoint", ask: { id, body: { enabled: true, held: "release" } } };
  return {
    kind: "choice",
    title: `Enable ${id}`,
    facts: [url, ""],
    waiting: { endpoint: id, fate: "sent" },
    choices: [
      {
        key: "y",
        label: "enable, and send the held events",
        act: { label: `enable ${shortId(id)}`, request, event: null },
      },
    ],
  };
}

/** Frees the key that has been held for longest. */
export function freeChoice({ id, url }: Endpoint, held: HeldKeys): ChoiceDialog {
  const { event, ordering_key: key, count } = held;
  const body = { endpoint: id };
  const replay: Request = { operation: "replayEvent", ask: { id: event, body } };
  const cancel: Request = { operation: "cancelEvent", ask: { id: event, body } };
  return {
    kind: "choice",
    title: "Free a held key",
    facts: [
      url,
      "",
      `Nothing of the key ${key} is sent, because ${event} failed.`,
      ...(count === 1 ? [] : [`${count - 1} more are held; this one has been held for longest.`]),
    ],
    waiting: null,
    choices: [
      { key: "r", label: "replay: send it again", act: { label: `replay ${shortId(event)}`, request: replay, event } },
      {
        key: "x",
        label: "cancel: leave it out, and send the next event of the key",
        act: { label: `cancel ${shortId(event)}`, request: cancel, event: null },
      },
    ],
  };
}

/** `switchesAt` is the instant at which the next secret takes over, or null if it is unknown. */
export function rotationChoice({ id, url }: Pick<Endpoint, "id" | "url">, switchesAt: string | null): ChoiceDialog {
  const act = (label: string, operation: "completeRotation" | "abandonRotation"): ActDraft => ({
    label: `${label} ${shortId(id)}`,
    request: { operation, ask: { id } },
    event: null,
  });
  const when = switchesAt === null ? "" : ` It takes over at ${switchesAt}.`;
  return {
    kind: "choice",
    title: `Rotation of ${id}`,
    facts: [url, "", `The next secret of this endpoint has not taken over yet.${when}`],
    waiting: null,
    choices: [
      {
        key: "c",
        label: "complete: the next secret takes over now, and the old one is no longer used",
        act: act("complete rotation of", "completeRotation"),
      },
      {
        key: "a",
        label: "abandon: the next secret is discarded, and the current one stays in use",
        act: act("abandon rotation of", "abandonRotation"),
      },
    ],
  };
}
