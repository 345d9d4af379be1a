import type { Attempt } from "../../src/client/operations.ts";
import { OUTCOMES } from "../../src/domain/deliveries/attempt.ts";
import { command, FILTER, LIST } from "../command.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { findId } from "../find-id.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { readQuery } from "../values.ts";
import { hostOf } from "../output/words.ts";
import { answerOf } from "./text.ts";

const FIELDS: readonly Field<Attempt>[] = [
  { name: "id", text: ({ id }) => id },
  { name: "event", text: ({ event }) => event, hidden: true },
  { name: "delivery", text: ({ delivery }) => delivery, hidden: true },
  { name: "endpoint", rank: 1, text: ({ endpoint }) => endpoint },
  { name: "host", rank: 3, least: 12, text: ({ url }) => hostOf(url) },
  { name: "number", title: "TRY", rank: 8, text: ({ number }) => String(number) },
  { name: "trigger", rank: 2, text: ({ trigger }) => trigger },
  {
    name: "started_at",
    title: "STARTED",
    rank: 7,
    text: ({ started_at }) => started_at,
    // Leave out the date to save width.
    brief: ({ started_at }) => started_at.slice(11, 19) + "Z",
  },
  { name: "outcome", rank: 4, text: ({ outcome }) => outcome },
  { name: "status_code", title: "ANSWER", text: answerOf },
  { name: "duration_ms", title: "MS", rank: 5, text: ({ duration_ms }) => String(duration_ms) },
  { name: "url", text: ({ url }) => url, hidden: true },
  { name: "detail", rank: 9, least: 12, text: ({ detail }) => detail },
];

const LISTINGS = { evt: "listEventAttempts", dlv: "listDeliveryAttempts", ep: "listEndpointAttempts" } as const;

export const attemptsList = command({
  args: {
    of: {
      type: "positional",
      required: true,
      valueHint: "ID",
      description: "Event (evt_…), delivery (dlv_…) or endpoint (ep_…, or part of its URL)",
    },
    outcome: {
      type: "enum",
      options: OUTCOMES,
      description: "For an endpoint: only attempts with this outcome",
    },
    error: { ...FILTER.error, description: "For an endpoint: only attempts with this error, such as timeout" },
    "status-code": {
      ...FILTER["status-code"],
      description: "For an endpoint: only attempts answered with this status: 503, or 5xx",
    },
    since: { ...FILTER.since, description: "For an endpoint: only events received since this time, such as 2h" },
    until: { ...FILTER.until, description: "For an endpoint: only events received before this time" },
    ...LIST,
  },
  examples: [
    "webhookd attempts list evt_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd attempts list ep_01m7w8bx02jeyjr53r14y5rmma --status-code 5xx --since 2h --json",
  ],
  async run(args, io) {
    const prefix = prefixOf(args.of);
    const query = readQuery(args, io.now(), prefix === "ep" ? ["error", "status_code", "since", "until"] : []);
    if (args.outcome !== undefined && prefix !== "ep") throw usage("--outcome needs the id of an endpoint");
    const client = connect(args, io);
    const asked = {
      client,
      operation: LISTINGS[prefix],
      id: await (prefix === "ep" ? findEndpoint(args.of, client) : findId(prefix, args.of, client)),
      query: { ...query, outcome: args.outcome },
    };
    await list(asked, args, { id: (attempt) => attempt.id, fields: FIELDS }, io);
    return EXIT.ok;
  },
});

function prefixOf(id: string): keyof typeof LISTINGS {
  if (id.startsWith("dlv_")) return "dlv";
  // Text that is not an id of another kind may be part of an endpoint's URL.
  return /^(?:evt|att|job|key)_/.test(id) ? "evt" : "ep";
}
