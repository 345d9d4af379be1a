/** Advice by the status code of the receiver's response. */
import type { Row } from "./by-error.ts";

export const BY_STATUS: readonly (readonly [(status: number) => boolean, Row])[] = [
  [
    is(401, 403),
    {
      kind: "standing",
      blame: "the receiver",
      meaning:
        "The receiver refuses the request: most often the signature does not match, or a firewall is in the way.",
      receiver:
        "Verify the signature over the raw body with the current secret, and let our requests through the firewall.",
      type: ["secret", "answer", "test"],
      customer:
        "Your endpoint refuses our signature or our address. Please check the secret, and that you verify the raw body.",
      owner: "status_401",
    },
  ],
  [
    is(404, 405),
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The host answers, but nothing accepts a POST at this path.",
      receiver: "Route POST requests for this exact path to the handler, or tell us the new URL.",
      type: ["move", "test"],
      customer: "We reach your server, but not your handler: the path is unknown there. Has the URL changed?",
      owner: "status_404",
    },
  ],
  [
    is(408),
    {
      kind: "passing",
      blame: "the receiver",
      meaning: "The receiver gave up waiting for the request: it, or a proxy in front of it, is overloaded.",
      receiver: "Raise the proxy's time limit for reading requests, or add capacity.",
      type: ["fewer", "answer"],
      customer: "Your server gave up before it had read our request. We keep trying.",
      owner: "status_408",
    },
  ],
  [
    is(410),
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver says that it is gone for good.",
      receiver: "Register the new URL, if there is one.",
      type: ["skip", "move"],
      customer: "Your endpoint says that it is gone. Shall we stop sending, or is there a new URL?",
      owner: "status_410",
    },
  ],
  [
    is(413),
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The event is larger than the receiver, or a proxy in front of it, accepts.",
      receiver: "Raise the limit on request bodies; an event can be up to 256 KiB.",
      type: ["answer", "test"],
      customer: "Your server refuses bodies of this size. Please raise its limit.",
      owner: "status_413",
    },
  ],
  [
    is(429),
    {
      kind: "passing",
      blame: "the receiver",
      meaning:
        "The receiver asks for fewer requests. Its Retry-After delays the next attempt only as far as the operator's [retry] max_retry_after allows.",
      receiver: "Raise the limit for us, or answer at once and queue the work.",
      type: ["rate", "answer"],
      customer:
        "Your server limits how fast we may send. We are slowing down; please raise the limit if you want events sooner.",
      owner: "status_429",
    },
  ],
  [
    is(400, 415, 422),
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver read the event and does not accept its content.",
      receiver: "Accept event types and fields that are new to you: ignore them and answer with 2xx.",
      type: ["answer", "test"],
      customer: "Your handler rejects the event's content. Its answer says why; we can send you a test event.",
      owner: "status_400",
    },
  ],
  [
    (status) => status >= 400 && status < 500,
    {
      kind: "standing",
      blame: "the receiver",
      meaning: "The receiver says that something is wrong with the request.",
      receiver: "Find out in the handler's log why it answers like this, and answer with 2xx.",
      type: ["answer", "test"],
      customer: "Your server rejects our requests. Its log should say why.",
      owner: "status_4xx",
    },
  ],
  [
    is(502, 503, 504),
    {
      kind: "passing",
      blame: "the receiver",
      meaning: "A proxy answers, but the application behind it does not: it is down, starting or overloaded.",
      receiver: "Start the application, or add capacity; answer at once and queue the work.",
      type: ["answer", "fewer", "test"],
      customer: "Your server is unavailable. We keep trying, and nothing is lost in the meantime.",
      owner: "status_502",
    },
  ],
  [
    (status) => status >= 500 && status < 600,
    {
      kind: "passing",
      blame: "the receiver",
      meaning: "The receiver's handler crashed on the event.",
      receiver: "Find the exception in the handler's log; the event's id is in the body.",
      type: ["answer", "test"],
      customer: "Your handler fails with an internal error; its log should say why. We keep trying.",
      owner: "status_5xx",
    },
  ],
];

export const OTHER_STATUS: Row = {
  kind: "standing",
  blame: "the receiver",
  meaning: "The receiver answers with a status that does not end a request.",
  receiver: "Answer with 2xx once the event is accepted.",
  type: ["answer", "test"],
  customer: "Your server answers with an unexpected status. Please answer with 2xx.",
  owner: "other_status",
};

function is(...statuses: readonly number[]): (status: number) => boolean {
  return (status) => statuses.includes(status);
}
