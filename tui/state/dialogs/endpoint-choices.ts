/** Turning an endpoint off and on, and ending the rotation of its secret: which way, one key each. */
import type { Endpoint } from "../../../src/client/answers.ts";
import type { ChoiceDialog } from "../../model/dialog.ts";
import { shortId } from "../../draw/numbers.ts";
import type { ActDraft, Request } from "../../model/call.ts";

export function switchChoice(endpoint: Endpoint): ChoiceDialog {
  return endpoint.enabled ? pauseChoice(endpoint) : enableChoice(endpoint);
}

function pauseChoice({ id, url }: Endpoint): ChoiceDialog {
  const pause = (when: "hold" | "skip"): ActDraft => ({
    label: `pause ${shortId(id)}`,
    request: { operation: "changeEndpoint", ask: { id, body: { enabled: false, when_disabled: when } } },
    event: null,
  });
  return {
    kind: "choice",
    title: `Pause ${id}`,
    facts: [url, "", "Nothing more is sent to it until it is enabled again. No try is lost meanwhile."],
    waiting: { endpoint: id, fate: "kept" },
    choices: [
      { key: "h", label: "hold: what comes for it meanwhile is kept, and sent when it is enabled", act: pause("hold") },
      { key: "s", label: "skip: what comes for it meanwhile is never sent to it", act: pause("skip") },
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
        label: "enable, and send what is held",
        act: { label: `enable ${shortId(id)}`, request, event: null },
      },
    ],
  };
}

/** `switchesAt`: the instant at which the next secret takes over, where that is known. */
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
        label: "complete: it takes over now, and nothing is signed with the old one any more",
        act: act("complete rotation of", "completeRotation"),
      },
      {
        key: "a",
        label: "abandon: it is forgotten, and the current one goes on",
        act: act("abandon rotation of", "abandonRotation"),
      },
    ],
  };
}
