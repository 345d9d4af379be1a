/** The brake as it is known: the daemon is asked only now and then, and what it answers to a key counts at once. */
import type { Answers } from "../../src/client/answers.ts";
import type { Answered, Known } from "../model.ts";

export function brakeKnown(known: Known, { call, answer }: Answered): Known {
  if (known.status === null || (call.operation !== "pauseDaemon" && call.operation !== "resumeDaemon")) return known;
  const { paused } = answer as Answers["pauseDaemon" | "resumeDaemon"];
  return { ...known, status: { ...known.status, value: { ...known.status.value, paused } } };
}
