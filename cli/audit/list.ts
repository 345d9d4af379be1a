import type { AuditRecord } from "../../src/client/operations.ts";
import { isAnyId } from "../../src/domain/id.ts";
import { command, LIST, TENANT } from "../command.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { age, ago, hostsOf } from "../output/words.ts";
import { connect } from "../target.ts";
import { readQuery } from "../values.ts";

/** People know an endpoint by its host, not by its id. */
function fieldsWith(hosts: ReadonlyMap<string, string>): readonly Field<AuditRecord>[] {
  const hostOfIt = ({ object }: AuditRecord) => hosts.get(object ?? "") ?? "";
  return [
    { name: "at", title: "WHEN", text: ({ at }, now) => ago(at, now), brief: ({ at }, now) => age(at, now) },
    { name: "actor", rank: 9, least: 8, text: actorText },
    { name: "action", text: ({ action }) => action },
    { name: "count", title: "CALLS", text: ({ count }) => String(count), hidden: ({ count }) => count === 1 },
    {
      name: "last_at",
      title: "LAST",
      text: ({ last_at: at }, now) => ago(at, now),
      hidden: ({ count }) => count === 1,
    },
    { name: "outcome", text: ({ outcome }) => outcome },
    { name: "object", rank: 8, text: ({ object }) => object ?? "" },
    { name: "host", rank: 7, least: 12, text: hostOfIt, hidden: (record) => hostOfIt(record) === "" },
    { name: "tenant", rank: 1, least: 8, text: ({ tenant }) => tenant },
    { name: "request_id", title: "REQUEST", text: ({ request_id: id }) => id, hidden: true },
  ];
}

export const auditList = command({
  args: {
    about: {
      type: "positional",
      required: false,
      valueHint: "ID",
      description: "Only calls about this object: its id, or part of an endpoint's URL, uid or description",
    },
    action: { type: "string", valueHint: "ACTION", description: "Only calls of this kind, such as job.create" },
    since: {
      type: "string",
      valueHint: "WHEN",
      description: "Only calls since this time: 2h (ago), 12:00 (UTC) or 2026-11-20T09:00Z",
    },
    until: { type: "string", valueHint: "WHEN", description: "Only calls before this time" },
    tenant: TENANT,
    ...LIST,
  },
  examples: [
    "webhookd audit list --since 24h",
    "webhookd audit list acme",
    "webhookd audit list --action secret.read --json",
  ],
  async run(args, io) {
    const client = connect(args, io);
    // Do not look up ids: the log also names objects that were deleted or are not endpoints.
    const isId = args.about === undefined || isAnyId(args.about);
    const object = isId ? args.about : await findEndpoint(args.about!, client);
    const query = { ...readQuery(args, io.now(), ["since", "until", "tenant"]), action: args.action, object };
    const asked = { client, operation: "listAudit", query } as const;
    const hosts = new Map<string, string>();
    const shown = {
      id: ({ request_id: id }: AuditRecord) => id,
      fields: fieldsWith(hosts),
      async learn(records: readonly AuditRecord[]) {
        const endpoints = records.flatMap(({ object }) => (object?.startsWith("ep_") ? [{ endpoint: object }] : []));
        for (const [endpoint, host] of await hostsOf(client, endpoints)) hosts.set(endpoint, host);
      },
    };
    await list(asked, args, shown, io);
    return EXIT.ok;
  },
});

/** Over the socket, the login name says more than the actor alone. */
function actorText({ actor, user, uid }: AuditRecord): string {
  if (user !== null) return `${user} (${actor})`;
  return uid === null ? actor : `uid ${uid} (${actor})`;
}
