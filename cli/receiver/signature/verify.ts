import type { Client } from "../../../src/client/client.ts";
import { printDuration } from "../../../src/config/units.ts";
import { computedBy, nearMiss, type Presented, type Stamp } from "./near-miss.ts";
import {
  FORMATS,
  isFor,
  secretFault,
  timestampIn,
  verifies,
  type SignatureFormat,
} from "../../../src/domain/endpoints/further-signature.ts";
import { verifyingKey } from "../../../src/domain/endpoints/secret.ts";
import { type ArgsOf, CLIENT, command } from "../../command.ts";
import { withWholeIds } from "../../endpoints/find.ts";
import { EXIT } from "../../exit-code.ts";
import { bodyOf } from "../../events/body.ts";
import { usage } from "../../failure.ts";
import type { Io } from "../../io.ts";
import { note, say, sayJson } from "../../output/print.ts";
import { count } from "../../output/words.ts";
import { connect } from "../../target.ts";
import { readId } from "../../values.ts";
import { BODY, SECRET_FILE, STAMP, readBody, readSecretsToVerify, readStamp } from "./inputs.ts";
import { checkStamp, configuredFormats, formatOf, sayOther, signedOf } from "./further.ts";
import { otherSecrets, publicKeysOf, secretsOf } from "./known-secrets.ts";
import { reasonsOf } from "./reasons.ts";

/** Receivers commonly allow this much, as the libraries of Standard Webhooks do. */
const TOLERANCE_MS = 5 * 60_000;

const ARGS = {
  signature: {
    type: "string",
    required: true,
    valueHint: "HEX",
    description: "Value of X-Service-Signature or, with --id and --timestamp, of webhook-signature",
  },
  body: BODY,
  format: {
    type: "string",
    valueHint: "NAME",
    description: `Format of [[signature.also]]: ${Object.keys(FORMATS).join(", ")}, or the header of a custom one`,
  },
  "secret-file": SECRET_FILE,
  ...STAMP,
  event: { type: "string", valueHint: "evt_…", description: "Get the body of this event from the daemon" },
  endpoint: { type: "string", valueHint: "ep_…", description: "Get the secret of this endpoint from the daemon" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const verify = command({
  args: ARGS,
  examples: [
    "webhookd verify --secret-file secret.txt --signature 757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17 body.json",
    "webhookd verify --event evt_01m7w8bx02jeyjr53r14y5rmma --endpoint ep_01m7w8bx02jeyjr53r14y5rmma --signature 757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    "webhookd verify --format stripe --secret-file secret.txt --signature t=1795168000,v1=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17 body.json",
  ],
  async run(typed, io) {
    const stamp = readStamp(typed);
    const args = await withWholeIds(typed, io);
    checkSources(args);
    const format = args.format === undefined ? null : formatOf(args.format, io, args.config);
    if (format === null) checkHeader(args.signature, stamp);
    else checkStamp(args.format!, format, args.signature, stamp);
    const client = args.event === undefined && args.endpoint === undefined ? null : connect(args, io);
    const presented = await present(args, { stamp, format }, client, io);
    const isGenuine =
      format === null
        ? presented.secrets.some((secret) => matches(secret, presented))
        : verifies(format, presented.secrets, signedOf(presented), presented.signature);
    const made = (format && timestampIn(format, args.signature)) ?? stamp?.timestamp ?? null;
    const stale = made === null ? null : staleness(made, io.now());
    if (isGenuine) {
      if (args.json) sayJson(io, { ok: true });
      else say(io, "OK");
    } else if (format !== null) {
      const reasons = await reasonsAgainst(args.format!, format, { presented, client, args, io });
      sayOther(format, presented, { ...args, reasons }, io);
    } else await sayWhy(presented, client, args, io);
    if (stale !== null) note(io, stale);
    return isGenuine ? EXIT.ok : EXIT.answer_is_no;
  },
});

interface Kind {
  readonly stamp: Stamp | null;
  readonly format: SignatureFormat | null;
}

async function present(args: Args, { stamp, format }: Kind, client: Client | null, io: Io): Promise<Presented> {
  const { signature, event, endpoint, "secret-file": file } = args;
  const fromFile = file === undefined ? null : { secrets: readSecretsToVerify(file), others: [] };
  const body = event === undefined ? await readBody(args.body, io) : await sentTo(endpoint, event, client!);
  const { secrets, others } =
    fromFile ?? (await secretsOf(client!, endpoint!, format === null ? stamp !== null : format.separator !== null));
  // Without the public keys, the secrets would be blamed for an entry that no secret makes.
  const keys = fromFile === null && /\bv1a,/.test(signature) ? await publicKeysOf(client!, endpoint!) : [];
  return { signature, body, secrets: [...keys, ...secrets], others, standard: stamp ?? undefined };
}

/** Returns the body of the event in the endpoint's format; without an endpoint, the envelope. */
async function sentTo(endpoint: string | undefined, event: string, client: Client): Promise<Buffer> {
  const { format } = endpoint === undefined ? {} : await client.call("getEndpoint", { id: endpoint });
  return bodyOf(await client.text("getEvent", { id: event }), format).body;
}

/** Requires one source for the secret, at most one for the body, and valid ids. */
function checkSources({ event, endpoint, body, "secret-file": file }: Args): void {
  if ((file === undefined) === (endpoint === undefined)) {
    throw usage("which secret?", "Use either --secret-file or --endpoint.");
  }
  if (event !== undefined && body !== undefined) {
    throw usage("which body?", "Give either BODY or --event.");
  }
  if (event !== undefined) readId("evt", event);
  if (endpoint !== undefined) readId("ep", endpoint);
}

/** A request has both headers, and the flags for one cannot check the other. */
function checkHeader(signature: string, stamp: Stamp | null): void {
  if (stamp === null && /^v\d\w?,/.test(signature)) {
    throw usage(
      "this is a webhook-signature",
      "Add --id and --timestamp, from the headers webhook-id and webhook-timestamp.",
    );
  }
  if (stamp !== null && /^[0-9a-f]{64}$/i.test(signature)) {
    throw usage("this is an X-Service-Signature", "Leave out --id and --timestamp: only the body is signed.");
  }
}

/** True only for exactly the form that is sent. Any other form is a near miss, because a receiver may be stricter. */
function matches(secret: string, { signature, body, standard }: Presented): boolean {
  const key = verifyingKey(secret);
  if (standard !== undefined) return key.verifyStandard(standard.id, standard.timestamp, body, signature);
  return signature === signature.toLowerCase() && key.verifyBody(body, signature);
}

interface Mismatch {
  readonly presented: Presented;
  readonly client: Client | null;
  readonly args: Args;
  readonly io: Io;
}

/**
 * Returns why no request of the endpoint can have a signature that its receiver takes, as far as that is known here.
 */
async function reasonsAgainst(name: string, format: SignatureFormat, { presented, client, args, io }: Mismatch) {
  const fault = presented.secrets.map((secret) => secretFault(format, secret)).find((one) => one !== null);
  const reasons = fault === undefined ? [] : [`${name} ${fault}`];
  const also = configuredFormats(name, io, args.config);
  if (args.endpoint === undefined || also === null) return reasons;
  const { id, tenant } = await client!.call("getEndpoint", { id: args.endpoint });
  if (also.some((one) => isFor(one, { endpoint: id, tenant }))) return reasons;
  return [...reasons, `no [[signature.also]] here sends ${name} to ${id} of the tenant ${tenant}`];
}

async function sayWhy(presented: Presented, client: Client | null, args: Args, io: Io): Promise<void> {
  const found = nearMiss(presented) ?? (client && (await amongOthers(presented, client, args.endpoint)));
  const reasons = found === null ? [] : reasonsOf(found);
  const computed = computedFor(presented);
  if (args.json) {
    sayJson(io, { ok: false, reasons, faults: found?.faults ?? [], computed });
    return;
  }
  say(io, "MISMATCH");
  for (const reason of reasons) say(io, `  ${reason}`);
  if (reasons.length > 0) return;
  if (computed !== null) say(io, `  computed ${computed}`);
  const { signature, standard } = presented;
  if (standard === undefined && computed !== null && signature.length !== computed.length)
    say(
      io,
      `  the signature has ${count(signature.length, "character", "characters")}, and should have ${computed.length}`,
    );
  else if (presented.body.length === 0)
    say(io, "  the body is empty: something consumed it first, or it is the wrong file");
  else say(io, "  no common mistake explains it: the body was changed, or the secret is wrong");
}

async function amongOthers(presented: Presented, client: Client, endpoint: string | undefined) {
  return nearMiss({ ...presented, secrets: [], others: await otherSecrets(client, endpoint) });
}

function computedFor({ secrets: [secret], body, standard }: Presented): string | null {
  return computedBy(verifyingKey(secret!), body, standard);
}

function staleness(timestamp: number, now: number): string | null {
  const age = now - timestamp * 1000;
  if (Math.abs(age) <= TOLERANCE_MS) return null;
  const distance = printDuration(Math.round(Math.abs(age) / 1000) * 1000);
  return `The timestamp is ${distance} in the ${age < 0 ? "future" : "past"}: receivers that allow 5m reject it.`;
}
