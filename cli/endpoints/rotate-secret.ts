import type { SigningSecrets } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { keepingIn } from "../files.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { readDuration } from "../values.ts";
import { readBrought, SECRET_FILE, SECRET_FROM } from "./brought-secret.ts";

const MAX_OVERLAP_MS = 7 * 86_400_000;

/** Flags that begin a rotation or end it. */
export const ROTATION = {
  overlap: { type: "string", valueHint: "DURATION", description: "How long both secrets are in use, at most 7d [24h]" },
  complete: { type: "boolean", description: "Let the next secret take over now" },
  abandon: { type: "boolean", description: "Discard the next secret" },
} as const;

const ARGS = {
  endpoint: ENDPOINT,
  ...ROTATION,
  "secret-file": SECRET_FILE,
  "secret-from": SECRET_FROM,
  ...CLIENT,
} as const;

export const endpointsRotateSecret = command({
  args: ARGS,
  examples: [
    "webhookd endpoints rotate-secret ep_01m7w8bx02jeyjr53r14y5rmma --overlap 24h",
    "webhookd endpoints rotate-secret ep_01m7w8bx02jeyjr53r14y5rmma --complete",
    "webhookd endpoints rotate-secret ep_01m7w8bx02jeyjr53r14y5rmma --overlap 0s --secret-from old-provider.txt",
  ],
  /** Prints only the new secret on stdout. */
  async run(args, io) {
    const overlap = readOverlap(args, args["secret-file"] !== undefined || args["secret-from"] !== undefined);
    const secret = await readBrought(args, io);
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    if (args.complete) return complete(client, id, args, io);
    if (args.abandon) return abandon(client, id, args, io);
    const file = args["secret-file"];
    const body = { overlap_seconds: overlap, secret };
    const make = () => client.call("rotateSecret", { id, body });
    const secrets = await keepingIn(file, { make, secret: newest });
    const isBrought = secret !== undefined;
    if (args.json)
      sayJson(io, file === undefined && !isBrought ? secrets : { id, switches_at: secrets.switches_at, file });
    else tell(id, secrets, { file, isBrought }, io);
    return EXIT.ok;
  },
});

/** Returns the overlap in seconds; undefined if none was given. `begins` is true if another flag begins a rotation. */
export function readOverlap({ overlap, complete, abandon }: ArgsOf<typeof ROTATION>, begins = false) {
  const isNew = overlap !== undefined || begins;
  if ((complete && abandon) || ((complete || abandon) && isNew)) {
    throw usage(`${complete ? "--complete" : "--abandon"} ends a rotation`, "Flags that begin one do not apply.");
  }
  if (overlap === undefined) return undefined;
  const milliseconds = readDuration(overlap, "--overlap");
  if (milliseconds <= MAX_OVERLAP_MS && milliseconds % 1000 === 0) return milliseconds / 1000;
  throw usage(`--overlap must be a whole number of seconds up to 7d, not "${overlap}"`);
}

async function complete(client: Client, id: string, { json }: { json: boolean }, io: Io): Promise<number> {
  await client.call("completeRotation", { id });
  if (json) sayJson(io, { id, completed: true });
  else say(io, `${id}: the next secret has taken over; the old one is no longer used.`);
  return EXIT.ok;
}

async function abandon(client: Client, id: string, { json }: { json: boolean }, io: Io): Promise<number> {
  await client.call("abandonRotation", { id });
  if (json) sayJson(io, { id, abandoned: true });
  else say(io, `${id}: the next secret is discarded; the current one stays in use.`);
  return EXIT.ok;
}

function newest({ next_signing_secret: next, signing_secret: current }: SigningSecrets): string {
  return next ?? current;
}

function tell(
  id: string,
  secrets: SigningSecrets,
  { file, isBrought }: { readonly file: string | undefined; readonly isBrought: boolean },
  io: Io,
): void {
  const at = secrets.switches_at;
  note(
    io,
    at === undefined ? `${id}: the new secret is in use from now on.` : `${id}: the next secret takes over at ${at}.`,
  );
  if (at !== undefined) {
    note(io, "Until then X-Service-Signature is made with the current secret, so the receiver should accept both.");
    note(io, `Once it does: webhookd endpoints rotate-secret ${id} --complete`);
  }
  if (isBrought) return;
  if (file !== undefined) note(io, `The new secret is in ${file}.`);
  else {
    note(
      io,
      `This is the new secret. To print it again: webhookd endpoints secret ${id}${at === undefined ? "" : " --next"}`,
    );
    say(io, newest(secrets));
  }
}
