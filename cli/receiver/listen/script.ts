/** The responses that the receiver gives on purpose, request by request. */
import { usage } from "../../failure.ts";
import { readCount, readDuration } from "../../values.ts";

export interface Script {
  /** Used in turn, then again from the beginning. */
  readonly statuses: readonly number[];
  /** The number of requests at the start that get a 500. */
  readonly failFirst: number;
  readonly delayMs: number;
  readonly drop: boolean;
}

interface ScriptArgs {
  readonly status: string | undefined;
  readonly "fail-first": string;
  readonly delay: string;
  readonly drop: boolean;
}

export function readScript(args: ScriptArgs): Script {
  return {
    statuses: (args.status ?? "200").split(",").map(readStatus),
    failFirst: readCount(args["fail-first"], "--fail-first", { min: 0, max: 1_000_000 }),
    delayMs: readDelay(args.delay),
    drop: args.drop,
  };
}

/** Returns the status for request `index`, counted from 0. */
export function statusFor({ statuses, failFirst }: Script, index: number): number {
  return index < failFirst ? 500 : statuses[(index - failFirst) % statuses.length]!;
}

function readStatus(text: string): number {
  if (/^[2-5]\d\d$/.test(text.trim())) return Number(text);
  const message = `--status must be a status from 200 to 599, or several separated by commas, not "${text}"`;
  throw usage(message);
}

function readDelay(text: string): number {
  const delay = readDuration(text, "--delay");
  if (delay <= 60_000) return delay;
  throw usage("--delay may be at most 60s", "webhookd waits 10 s for an answer.");
}
