import { CLIENT, command, JSON_FLAG } from "../command.ts";

const BODY = {
  type: "positional",
  valueHint: "BODY",
  description: "File with the body, byte for byte; stdin if it is - or not given",
} as const;
const SECRET_FILE = {
  type: "string",
  valueHint: "FILE",
  description: "File with the signing secret; one a line while it is being rotated",
} as const;
const STAMP = {
  id: { type: "string", valueHint: "evt_…", description: "The webhook-id, for a webhook-signature" },
  timestamp: { type: "string", valueHint: "SECONDS", description: "The webhook-timestamp, for a webhook-signature" },
} as const;

export const RECEIVER = {
  listen: command(
    "listen",
    "Receive, verify and show what webhookd sends, on this machine",
    {
      port: { type: "string", default: "4000", valueHint: "PORT", description: "Where to listen; 0 takes any" },
      path: { type: "string", default: "/", valueHint: "PATH", description: "What else is asked for is 404" },
      register: {
        type: "boolean",
        description: "Register it as an endpoint for as long as it runs (the daemon needs --dev)",
      },
      keep: { type: "boolean", description: "Leave it registered at the end" },
      events: { type: "string", valueHint: "T,…|all", description: "Register it for these event types [all]" },
      "secret-file": SECRET_FILE,
      "forward-to": { type: "string", valueHint: "URL", description: "Pass everything on, and its answers back" },
      status: { type: "string", valueHint: "STATUS,…", description: "Answer so, several in turn [200]" },
      "fail-first": { type: "string", default: "0", valueHint: "N", description: "Answer the first N with 500" },
      delay: { type: "string", default: "0s", valueHint: "DURATION", description: "Wait before each answer" },
      drop: { type: "boolean", description: "Hang up in place of answering" },
      once: { type: "boolean", description: "End after one request: 0, or 8 if its signature is wrong" },
      save: { type: "string", valueHint: "DIR", description: "Keep each body and its headers in files there" },
      ...CLIENT,
    },
    [
      "webhookd listen --register",
      "webhookd listen --register --events budget.exceeded,goal.achieved --fail-first 2",
      "webhookd listen --secret-file secret.txt --forward-to http://127.0.0.1:3000/hook",
    ],
  ),
  trigger: command(
    "trigger",
    "Make an event with sample data, and say what came back",
    {
      type: { type: "positional", valueHint: "TYPE", description: "Its event type" },
      endpoint: { type: "string", valueHint: "ep_…", description: "A test event, to this endpoint alone" },
      all: {
        type: "boolean",
        description: "A real event, to all that chose the type; no need to say so to a daemon with --dev",
      },
      data: {
        type: "string",
        valueHint: "@FILE",
        description: "In place of the sample: in a file, - for stdin, or JSON as it stands here",
      },
      set: { type: "string", multiple: true, valueHint: "data.a.b=VALUE", description: "Change one field of the data" },
      count: { type: "string", default: "1", valueHint: "N", description: "So many events" },
      pace: { type: "string", default: "5/s", valueHint: "N/s", description: "At most so many at a time" },
      print: { type: "boolean", description: "Show what would be published, and publish nothing" },
      list: { type: "boolean", description: "Show the types there are" },
      ...CLIENT,
    },
    [
      "webhookd trigger budget.exceeded",
      "webhookd trigger budget.exceeded --endpoint ep_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd trigger transaction.enriched --all --set data.category=travel.flights --count 10 --pace 2/s",
      "webhookd trigger --list",
    ],
  ),
  demo: command(
    "demo",
    "Show it all in one terminal: a daemon, two receivers and an event a second, in a temporary folder",
    { for: { type: "string", valueHint: "DURATION", description: "End by itself after so long [at Ctrl-C]" } },
    ["webhookd demo", "webhookd demo --for 30s"],
  ),
  verify: command(
    "verify",
    "Check a signature, and say why it does not match: 0 or 8",
    {
      signature: {
        type: "string",
        required: true,
        valueHint: "HEX",
        description: "What X-Service-Signature, or with --id and --timestamp webhook-signature, holds",
      },
      body: BODY,
      "secret-file": SECRET_FILE,
      ...STAMP,
      event: { type: "string", valueHint: "evt_…", description: "Take the body from the daemon: of this event" },
      endpoint: { type: "string", valueHint: "ep_…", description: "Take the secret from the daemon: of this endpoint" },
      ...CLIENT,
    },
    [
      "webhookd verify --secret-file secret.txt --signature 757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17 body.json",
      "webhookd verify --event evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --signature 757107ea",
    ],
  ),
  sign: command(
    "sign",
    "Print the signature of a body",
    { "secret-file": { ...SECRET_FILE, required: true }, body: BODY, ...STAMP, json: JSON_FLAG },
    [
      "webhookd sign --secret-file secret.txt body.json",
      "webhookd sign --secret-file secret.txt --id evt_01m7w8bx02jeyjr53r14y5rmma --timestamp 1795168000 body.json",
    ],
  ),
} as const;
