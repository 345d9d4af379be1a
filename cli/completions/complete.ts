/**
 * `webhookd __complete WORD…`, which the completion scripts call. It prints ids and names that only the daemon knows,
 * one a line: the word, a tab and its description. Help does not mention it. On any error it prints nothing, because a
 * person is typing.
 */
import { createClient, type Client } from "../../src/client/client.ts";
import { printable } from "../../src/domain/printable.ts";
import { version } from "../../src/build.ts";
import type { CommandName } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { findTarget, type TargetArgs } from "../target.ts";
import { hintAt } from "./grammar.ts";

/** A longer wait would be felt at every Tab. */
const CUT_OFF_MS = 150;
const MOST = 50;

type Known = readonly (readonly [word: string, description: string])[];

export async function complete(words: readonly string[], io: Io, cutOffMs = CUT_OFF_MS): Promise<number> {
  const at = await hintAt(words);
  if (at === null) return EXIT.ok;
  try {
    const client = createClient(findTarget(targetIn(words), io), { version, timeoutMs: cutOffMs });
    for (const [word, description] of await known(client, at.hint, at.command)) {
      io.stdout.write(`${printable(word)}\t${printable(description)}\n`);
    }
  } catch {}
  return EXIT.ok;
}

async function known(client: Client, hint: string, command: CommandName): Promise<Known> {
  const query = { limit: MOST };
  const prefix = /^([a-z]{2,3})_/.exec(hint)?.[1] ?? hint;
  switch (prefix) {
    case "ep":
      return (await client.call("listEndpoints", { query })).data.map(({ id, url }) => [id, url]);
    case "evt": {
      const status = command === "replay" ? { status: "failed" } : {};
      const { data } = await client.call("listEvents", { query: { ...query, ...status } });
      return data.map(({ id, type, created_at: at }) => [id, `${type} ${at}`]);
    }
    case "dlv":
      return (await client.call("listDeliveries", { query })).data.map((one) => [one.id, `${one.status} ${one.event}`]);
    case "job":
      return (await client.call("listJobs", { query })).data.map(({ id, action, status }) => [
        id,
        `${action} ${status}`,
      ]);
    case "key":
      return (await client.call("listKeys", { query })).data.map(({ id, name }) => [id, name]);
    case "TYPE":
      return (await client.call("listEventTypes")).data
        .filter(({ archived }) => !archived || command.startsWith("types "))
        .map(({ name, description, deprecated }) => [name, deprecated ? `deprecated: ${description}` : description]);
    default:
      return [];
  }
}

/** Returns the flags typed so far that choose the daemon. */
function targetIn(words: readonly string[]): TargetArgs {
  const value = (flag: string) => {
    const index = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
    if (index < 0) return undefined;
    return words[index]!.includes("=") ? words[index]!.slice(flag.length + 1) : words[index + 1];
  };
  return { url: value("--url"), socket: value("--socket"), "key-file": value("--key-file"), config: value("--config") };
}
