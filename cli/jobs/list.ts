import type { Job } from "../../src/client/operations.ts";
import { LISTS } from "../../src/domain/lists.ts";
import { command, FILTER, flagOf, LIST, TENANT } from "../command.ts";
import { withWholeIds } from "../endpoints/find.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { age, ago } from "../output/words.ts";
import { filterText } from "./job-text.ts";

const FIELDS: readonly Field<Job>[] = [
  { name: "id", text: ({ id }) => id },
  { name: "action", rank: 5, text: ({ action }) => action },
  { name: "status", text: ({ status }) => status },
  { name: "matched", rank: 7, text: ({ matched }) => String(matched) },
  { name: "done", rank: 8, text: ({ done }) => String(done) },
  { name: "delivered", rank: 4, text: ({ delivered }) => String(delivered) },
  { name: "failed", text: ({ failed }) => String(failed) },
  { name: "skipped", rank: 1, text: ({ skipped }) => String(skipped) },
  {
    name: "created_at",
    title: "CREATED",
    rank: 3,
    text: ({ created_at }, now) => ago(created_at, now),
    brief: ({ created_at }, now) => age(created_at, now),
  },
  { name: "filter", rank: 6, least: 12, text: ({ filter }) => filterText(filter) },
  { name: "reason", text: ({ reason }) => reason, hidden: true },
  { name: "paused_reason", text: ({ paused_reason }) => paused_reason ?? "", hidden: true },
  { name: "ended_at", text: ({ ended_at }) => ended_at ?? "", hidden: true },
  { name: "tenant", text: ({ tenant }) => tenant, hidden: true },
];

export const jobsList = command({
  args: {
    endpoint: FILTER.endpoint,
    status: flagOf(LISTS.jobs.filters.status),
    action: flagOf(LISTS.jobs.filters.action),
    tenant: TENANT,
    ...LIST,
  },
  examples: ["webhookd jobs list --status running,paused", "webhookd jobs list --ids --limit 1"],
  async run(args, io) {
    const { endpoint, status, action, tenant } = await withWholeIds(args, io);
    const asked = {
      client: connect(args, io),
      operation: "listJobs",
      query: { endpoint, status, action, tenant },
    } as const;
    await list(asked, args, { id: ({ id }) => id, fields: FIELDS, first: "webhookd replay --all-failed" }, io);
    return EXIT.ok;
  },
});
