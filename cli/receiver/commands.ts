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
