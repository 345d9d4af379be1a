/** Describes why nothing is being sent now, or less than could be. */
import type { Status } from "../../src/client/operations.ts";
import { ClientError, type Client } from "../../src/client/client.ts";
import type { Io } from "../io.ts";
import { note } from "../output/print.ts";
import { span } from "../output/words.ts";

export type Halt = Status["not_sending"][number];

/**
 * Returns the halts that are trouble, leaving out an operator's pause and a normal stop. Older daemons report no halts.
 */
export function troublesOf({ not_sending: halts = [] }: Partial<Pick<Status, "not_sending">>): readonly Halt[] {
  return halts.filter(({ reason }) => reason !== "operator" && reason !== "stopping");
}

export function troubleText({ reason, since, detail }: Halt, now: number): string {
  const lasting = `(for ${span(Math.max(0, (now - Date.parse(since)) / 1000))} so far)`;
  const what = reason === "shortage" ? "some attempts cannot be made" : "nothing can be sent";
  return `${what} ${lasting}: ${detail}. No attempt is used up`;
}

const WHAT_TO_TYPE: Partial<Readonly<Record<Halt["reason"], string>>> = {
  unreachable: "check this host's network and DNS: ip route, resolvectl status",
  shortage: "raise LimitNOFILE in the unit, or ulimit -n, or lower [delivery] max_in_flight",
  lease: "make sure that PostgreSQL is running and can be reached",
  unrecorded: "run webhookd doctor to see what is wrong with the disk",
};

export function troubleTodo({ reason }: Halt): string {
  return WHAT_TO_TYPE[reason] ?? "webhookd doctor";
}

/**
 * Returns why nothing is sent, for commands about something else. Empty if the status cannot be read, for example
 * because the key lacks the scope.
 */
export async function readHalts(client: Client): Promise<readonly Halt[]> {
  try {
    const { not_sending: halts = [] } = (await client.call("getStatus")) as Partial<Status>;
    return halts;
  } catch (error) {
    if (error instanceof ClientError) return [];
    throw error;
  }
}

/** Notes beside a command's own output that nothing is being sent, and why. */
export async function noteHalt(client: Client, io: Io): Promise<void> {
  const why = await whyNone(client);
  if (why !== null) note(io, `Nothing is being sent: ${why}.`);
}

/** Returns why no attempt will be made soon. Null if one will be, or if the key may not read the status. */
export async function whyNone(client: Client): Promise<string | null> {
  const halt = (await readHalts(client)).find(({ reason }) => reason !== "shortage");
  if (halt === undefined) return null;
  return halt.reason === "operator" ? pauseText(halt) : halt.detail;
}

/** Describes a pause by an operator. */
export function pauseText({ detail }: Halt): string {
  return `${detail}. To resume: webhookd resume`;
}
