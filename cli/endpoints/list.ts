import type { Endpoint, EndpointWithHealth } from "../../src/client/operations.ts";
import { LISTS } from "../../src/domain/lists.ts";
import { command, flagOf, LIST, sortedBy, TENANT } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { age, ago, endpointsOf, hostOf } from "../output/words.ts";
import { fieldText, healthText, stateOf } from "./text.ts";

type Healths = ReadonlyMap<string, EndpointWithHealth["health"]>;

/** People list endpoints to see which one is failing, so health comes right after the id. */
function fieldsWith(healths: Healths): readonly Field<Endpoint>[] {
  const health = (endpoint: Endpoint, now: number) => healthText(endpoint, healths.get(endpoint.id), now);
  return [
    { name: "id", text: ({ id }) => id },
    {
      name: "health",
      text: health,
      brief: (endpoint, now) => health(endpoint, now).split(";")[0]!,
    },
    { name: "state", rank: 4, least: 8, text: stateOf },
    { name: "url", least: 20, text: ({ url }) => url, brief: ({ url }) => hostOf(url) },
    { name: "tenant", rank: 10, least: 8, text: ({ tenant }) => tenant, hidden: ({ tenant }) => tenant === "default" },
    { name: "rate_per_second", title: "RATE", rank: 1, text: (endpoint) => fieldText(endpoint.rate_per_second) },
    {
      name: "created_at",
      title: "CREATED",
      rank: 2,
      text: ({ created_at }, now) => ago(created_at, now),
      brief: ({ created_at }, now) => age(created_at, now),
    },
    { name: "description", rank: 9, least: 12, text: ({ description }) => fieldText(description) },
    { name: "events", title: "TYPES", rank: 3, least: 12, text: ({ events }) => events.join(",") },
    { name: "filter", text: ({ filter }) => fieldText(filter), hidden: true },
    { name: "uid", text: ({ uid }) => fieldText(uid), hidden: true },
    { name: "max_in_flight", text: (endpoint) => fieldText(endpoint.max_in_flight), hidden: true },
    { name: "metadata", text: ({ metadata }) => fieldText(metadata), hidden: true },
  ];
}

export const endpointsList = command({
  args: {
    match: {
      type: "positional",
      required: false,
      valueHint: "TEXT",
      description: "Only endpoints with this text in their id, URL, uid, description or tenant",
    },
    state: { type: "enum", options: ["enabled", "disabled"], description: "Only endpoints in this state" },
    type: flagOf(LISTS.endpoints.filters.type),
    to: flagOf(LISTS.endpoints.filters.url),
    uid: flagOf(LISTS.endpoints.filters.uid),
    tenant: TENANT,
    ...LIST,
    sort: sortedBy(...LISTS.endpoints.sorts),
  },
  examples: [
    "webhookd endpoints list",
    "webhookd endpoints list acme",
    "webhookd endpoints list --sort failing",
    "webhookd endpoints list --state disabled --type budget.exceeded --ids",
  ],
  async run(args, io) {
    const { match, state, type, to, uid, tenant } = args;
    const enabled = state === undefined ? undefined : state === "enabled";
    const query = { match, enabled, type, url: to, uid, tenant };
    const asked = { client: connect(args, io), operation: "listEndpoints", query } as const;
    const healths = new Map<string, EndpointWithHealth["health"]>();
    await list(
      asked,
      args,
      {
        id: ({ id }) => id,
        fields: fieldsWith(healths),
        first: "webhookd endpoints add URL --events all",
        async learn(endpoints) {
          for (const [id, { health }] of await endpointsOf(asked.client, endpoints)) healths.set(id, health);
        },
      },
      io,
    );
    return EXIT.ok;
  },
});
