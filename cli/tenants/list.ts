import type { Item } from "../../src/client/client.ts";
import { LISTS } from "../../src/domain/lists.ts";
import { command, LIST, sortedBy } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { grouped } from "../output/words.ts";
import { connect } from "../target.ts";

const FIELDS: readonly Field<Item<"listTenants">>[] = [
  { name: "name", title: "TENANT", least: 10, text: ({ name }) => name },
  { name: "endpoints", text: ({ endpoints }) => grouped(endpoints) },
  { name: "published", title: "PUBLISHED 1H", text: (tenant) => grouped(tenant.published_last_hour) },
];

/** A tenant exists once something belongs to it. */
const FIRST = "webhookd endpoints add URL --events all --tenant TENANT";

export const tenantsList = command({
  args: { ...LIST, sort: sortedBy(...LISTS.tenants.sorts) },
  examples: ["webhookd tenants list --sort published"],
  async run(args, io) {
    const asked = { client: connect(args, io), operation: "listTenants", query: {} } as const;
    await list(asked, args, { id: ({ name }) => name, fields: FIELDS, first: FIRST }, io);
    return EXIT.ok;
  },
});
