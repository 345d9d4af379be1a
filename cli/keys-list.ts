import type { ClientKey } from "../src/client-answers.ts";
import type { Args } from "./commands.ts";
import { EXIT } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { sayJson, sayTable } from "./print.ts";
import { connect } from "./target.ts";

export async function run(args: Args<"keys list">, io: Io): Promise<number> {
  const keys = await connect(args, io).listKeys();
  if (args.json) sayJson(io, { data: keys, next_cursor: null });
  else
    sayTable(io, [
      ["ID", "NAME", "SCOPES", "TENANT", "CREATED", "LAST USED", "STATE"],
      ...keys.map((key) => row(key, io.now())),
    ]);
  return EXIT.ok;
}

function row(key: ClientKey, now: number): string[] {
  return [
    key.id,
    key.name,
    key.scopes.join(","),
    key.tenant,
    key.created_at,
    key.last_used_at ?? "never",
    state(key, now),
  ];
}

function state({ revoked_at, expires_at }: ClientKey, now: number): string {
  if (revoked_at !== null) return `revoked ${revoked_at}`;
  if (expires_at === null) return "works";
  return Date.parse(expires_at) > now ? `until ${expires_at}` : `expired ${expires_at}`;
}
