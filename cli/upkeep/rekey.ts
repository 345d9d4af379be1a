import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { configOf } from "./data-directory.ts";

export async function run(args: Args<"secrets rekey">, io: Io): Promise<number> {
  const config = configOf(args, io);
  const { rekey } = await import("../../src/offline.ts");
  const { keyFile, keyId, kept, damaged } = await rekey(config);
  if (args.json) {
    sayJson(io, { secret_key_file: keyFile, key_id: keyId, old_key_file: kept, damaged });
    return EXIT.ok;
  }
  say(io, `Everything is sealed with a new key, id ${keyId}: ${keyFile}. No endpoint's secret changed.`);
  say(io, "Copy it off this host, and make a backup: webhookd backup --seal-with FILE");
  if (kept !== null) say(io, `Older backups that hold no key need the old one: ${kept}. Remove it when they are gone.`);
  if (damaged.length > 0) say(io, `Did not open before either, and stay damaged: ${damaged.join(", ")}`);
  return EXIT.ok;
}
