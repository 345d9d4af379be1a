import type { Endpoint } from "../../src/client/operations.ts";
import { command, LIST, TENANT } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { ago } from "../output/words.ts";
import { fieldText, stateOf } from "./text.ts";

const FIELDS: readonly Field<Endpoint>[] = [
  { name: "id", text: ({ id }) => id },
  { name: "state", text: stateOf },
  { name: "url", text: ({ url }) => url },
  { name: "rate_per_second", title: "RATE", text: (endpoint) => fieldText(endpoint.rate_per_second) },
  { name: "created_at", title: "CREATED", text: ({ created_at }, now) => ago(created_at, now) },
  { name: "description", text: ({ description }) => fieldText(description) },
  // Last, because it may be long and lines are cut to the terminal.
  { name: "events", title: "TYPES", text: ({ events }) => events.join(",") },
  { name: "uid", text: ({ uid }) => fieldText(uid), hidden: true },
  { name: "tenant", text: ({ tenant }) => tenant, hidden: true },
  { name: "max_in_flight", text: (endpoint) => fieldText(endpoint.max_in_flight), hidden: true },
  { name: "metadata", text: ({ metadata }) => fieldText(metadata), hidden: true },
];

export const endpointsList = command({
  args: {
    match: {
      type: "positional",
      required: false,
      valueHint: "TEXT",
      description: "Only those whose id, URL, uid, description or tenant contains it",
    },
    state: { type: "enum", options: ["enabled", "disabled"], description: "Only endpoints in this state" },
    type: { type: "string", valueHint: "TYPE", description: "Only endpoints that chose this event type" },
    to: { type: "string", valueHint: "URL", description: "Only endpoints with exactly this URL" },
    uid: { type: "string", valueHint: "UID", description: "Only the endpoint with this uid" },
    tenant: TENANT,
    ...LIST,
  },
  examples: [
    "webhookd endpoints list",
    "webhookd endpoints list acme",
    "webhookd endpoints list --state disabled --type budget.exceeded --ids",
  ],
  async run(args, io) {
    const { match, state, type, to, uid, tenant } = args;
    const enabled = state === undefined ? undefined : state === "enabled";
    const query = { match, enabled, type, url: to, uid, tenant };
    const asked = { client: connect(args, io), operation: "listEndpoints", query } as const;
    await list(
      asked,
      args,
      { id: ({ id }) => id, fields: FIELDS, first: "webhookd endpoints add URL --events all" },
      io,
    );
    return EXIT.ok;
  },
});
