import type { Key } from "../../src/client/operations.ts";
import { command, LIST } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { list, type Field } from "../output/list.ts";
import { connect } from "../target.ts";
import { age, ago } from "../output/words.ts";

const FIELDS: readonly Field<Key>[] = [
  { name: "id", text: ({ id }) => id },
  { name: "name", rank: 9, least: 10, text: ({ name }) => name },
  { name: "scopes", rank: 5, least: 8, text: ({ scopes }) => scopes.join(",") },
  { name: "tenant", rank: 4, least: 8, text: ({ tenant }) => tenant },
  {
    name: "created_at",
    title: "CREATED",
    rank: 1,
    text: ({ created_at }, now) => ago(created_at, now),
    brief: ({ created_at }, now) => age(created_at, now),
  },
  {
    name: "last_used_at",
    title: "LAST USED",
    rank: 6,
    text: ({ last_used_at: at }, now) => (at === null ? "never" : ago(at, now)),
  },
  { name: "state", text: state },
];

export const keysList = command({
  args: {
    portal: { type: "boolean", description: "Only the keys of portal links, which are otherwise left out" },
    ...LIST,
  },
  examples: ["webhookd keys list", "webhookd keys list --portal"],
  async run(args, io) {
    const asked = {
      client: connect(args, io),
      operation: "listKeys",
      query: { portal: args.portal || undefined },
    } as const;
    await list(asked, args, { id: ({ id }) => id, fields: FIELDS }, io);
    return EXIT.ok;
  },
});

function state({ revoked_at, expires_at }: Key, now: number): string {
  if (revoked_at !== null) return `revoked ${revoked_at}`;
  if (expires_at === null) return "valid";
  return Date.parse(expires_at) > now ? `until ${expires_at}` : `expired ${expires_at}`;
}
