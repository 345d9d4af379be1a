/** Why nothing is sent now, or less than could be, as commands say it. */
import type { Status } from "../../src/client/operations.ts";
import { ClientError, type Client } from "../../src/client/client.ts";
import type { Io } from "../io.ts";
import { note } from "../output/print.ts";
import { span } from "../output/words.ts";

export type Halt = Status["not_sending"][number];

/** A pause is wanted, and told with `paused`; these are troubles. Older daemons do not report them. */
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

/** Why nothing is sent, for commands about something else; nothing if the key may not read the status. */
export async function readHalts(client: Client): Promise<readonly Halt[]> {
  try {
    const { not_sending: halts = [] } = (await client.call("getStatus")) as Partial<Status>;
    return halts;
  } catch (error) {
    if (error instanceof ClientError) return [];
    throw error;
  }
}

/** Says beside what was asked for that it has to wait, and why. */
export async function noteHalt(client: Client, io: Io): Promise<void> {
  const why = await whyNone(client);
  if (why !== null) note(io, `Nothing is being sent: ${why}.`);
}

/** Why no attempt will be made soon, as far as one may know; null when one will. */
export async function whyNone(client: Client): Promise<string | null> {
  const halt = (await readHalts(client)).find(({ reason }) => reason !== "shortage");
  if (halt === undefined) return null;
  return halt.reason === "operator" ? pauseText(halt) : halt.detail;
}

/** For a halt that an operator wanted. */
export function pauseText({ detail }: Halt): string {
  return `${detail}. To resume: webhookd resume`;
}
