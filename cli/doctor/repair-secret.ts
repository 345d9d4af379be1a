/** Replaces a signing secret that the store cannot read, and says who needs the new one. */
import type { Endpoint } from "../../src/client/operations.ts";
import { repairOf } from "../endpoints/text.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import { connectFor } from "../find-id.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import type { TargetArgs } from "../target.ts";

interface RepairArgs extends TargetArgs {
  readonly "repair-secret": string;
  readonly offline: boolean;
  readonly endpoint: string | undefined;
  readonly json: boolean;
}

/** Never shows the secret itself. */
export async function repairSecret(args: RepairArgs, io: Io): Promise<number> {
  if (args.offline || args.endpoint !== undefined)
    throw usage("--repair-secret needs the daemon, and cannot be combined with other checks");
  const { client, id } = await connectFor("ep", args["repair-secret"], args, io);
  const endpoint = await client.call("getEndpoint", { id });
  const parts = endpoint.damaged?.parts ?? [];
  const isNew = parts.includes("signing_secret");
  if (isNew) await client.call("rotateSecret", { id, body: { overlap_seconds: 0 } });
  else if (parts.includes("next_signing_secret")) await client.call("abandonRotation", { id });
  else {
    const hint = `To replace them anyway: webhookd endpoints rotate-secret ${id}`;
    throw new Failure(
      "conflict",
      `the secrets of ${id} can be read, so there is nothing to repair`,
      hint,
      "not_damaged",
    );
  }
  const rest = parts.filter((part) => !part.endsWith("signing_secret"));
  const { tenant, uid, url, description } = endpoint;
  if (args.json) sayJson(io, { endpoint: id, made: isNew ? "new_secret" : "abandoned", tenant, uid, url, description });
  else for (const line of isNew ? newLines(endpoint) : abandonedLines(endpoint)) say(io, line);
  if (!args.json && rest.length > 0)
    say(io, `Also damaged: ${rest.join(", ")}. To repair: ${repairOf(id, rest, tenant)}`);
  return EXIT.ok;
}

function newLines(endpoint: Endpoint): string[] {
  return [
    `${endpoint.id} has a new signing secret, in use from now on. Its waiting deliveries are being sent.`,
    `Its receiver rejects all requests until it has the new secret. Tell ${whose(endpoint)}`,
    `To see it: webhookd endpoints secret ${endpoint.id}`,
  ];
}

function abandonedLines(endpoint: Endpoint): string[] {
  return [
    `${endpoint.id}: the next secret could not be read and was discarded; the current one stays in use.`,
    `If the receiver already has it, start the rotation over. Tell ${whose(endpoint)}`,
    `To start: webhookd endpoints rotate-secret ${endpoint.id}`,
  ];
}

function whose({ tenant, uid, url, description }: Endpoint): string {
  const more = [
    `tenant ${tenant}`,
    ...(uid === null ? [] : [`uid ${uid}`]),
    ...(description === "" ? [] : [description]),
  ];
  return `the people who run ${url} (${more.join(", ")}).`;
}
