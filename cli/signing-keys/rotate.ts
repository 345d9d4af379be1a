import type { SigningKeys } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { ROTATION, readOverlap } from "../endpoints/rotate-secret.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { queryOf, TENANT } from "./text.ts";

const ARGS = {
  tenant: TENANT,
  overlap: { ...ROTATION.overlap, description: "How long both keys sign, at most 7d [24h]" },
  complete: { ...ROTATION.complete, description: "Let the next key take over now" },
  abandon: { ...ROTATION.abandon, description: "Discard the next key" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const signingKeysRotate = command({
  args: ARGS,
  examples: [
    "webhookd signing-keys rotate --tenant acme --overlap 48h",
    "webhookd signing-keys rotate --tenant acme --complete",
  ],
  /** Prints only the newest public key on stdout. */
  async run(args, io) {
    const overlap = readOverlap(args);
    const keys = await rotate(connect(args, io), args, overlap);
    if (args.json) sayJson(io, keys);
    else tell(keys, args, io);
    return EXIT.ok;
  },
});

function rotate(client: Client, args: Args, overlap: number | undefined): Promise<SigningKeys> {
  const query = queryOf(args);
  if (args.complete) return client.call("completeKeyRotation", query);
  if (args.abandon) return client.call("abandonKeyRotation", query);
  return client.call("rotateSigningKey", { ...query, body: { overlap_seconds: overlap } });
}

function tell({ public_key, next_public_key, switches_at }: SigningKeys, args: Args, io: Io): void {
  const tenant = args.tenant === undefined ? "" : ` --tenant ${args.tenant}`;
  if (switches_at === undefined) note(io, "This public key verifies everything that is sent from now on.");
  else {
    note(io, `This is the next public key. It takes over at ${switches_at}; until then both keys sign.`);
    note(io, `Give it to receivers that verify v1a, then: webhookd signing-keys rotate${tenant} --complete`);
  }
  say(io, next_public_key ?? public_key!);
}
