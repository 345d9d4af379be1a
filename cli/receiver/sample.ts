/** Makes the data of a sample event: a type's sample or the caller's own data, with some fields changed. */
import type { Client } from "../../src/client/client.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { readData } from "../events/data.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";

interface SampleArgs {
  readonly data: string | undefined;
  readonly set: readonly string[];
}

/**
 * Returns JSON. The caller's own data is passed on byte for byte unless a field is set. Types that are not built in are
 * looked up in the daemon.
 */
export async function sampleData(type: string, { data, set }: SampleArgs, connected: () => Client, io: Io) {
  const changes = set.map(readChange);
  const own = data === undefined ? undefined : await readData(data, io);
  const sample = await sampleOf(type, connected);
  if (changes.length === 0) return own ?? JSON.stringify(sample);
  const start = own === undefined ? sample : (JSON.parse(own) as unknown);
  return JSON.stringify(changes.reduce((value, { path, to }) => changed(value, path, to), start));
}

async function sampleOf(type: string, connected: () => Client): Promise<unknown> {
  const known = BUILT_IN_TYPES.find(({ name }) => name === type);
  if (known !== undefined) return known.sample;
  const { data: types } = await connected().call("listEventTypes");
  const configured = types.find(({ name }) => name === type);
  if (configured !== undefined) return configured.sample;
  const names = types.map(({ name }) => name);
  const near = nearest(type, names);
  const hint = near === null ? `The event types are ${names.join(", ")}.` : `Did you mean ${near}?`;
  throw usage(`there is no event type "${type}"`, hint);
}

interface Change {
  readonly path: readonly string[];
  readonly to: unknown;
}

/** Reads `data.a.0.b=VALUE`. A value that is not JSON is text. */
function readChange(text: string): Change {
  const [, path, value] = /^data\.([^=]+)=(.*)$/s.exec(text) ?? [];
  const steps = path?.split(".");
  if (steps === undefined || steps.includes("")) {
    throw usage(`--set takes data.field=value, not "${text}"`);
  }
  return { path: steps, to: jsonOr(value!) };
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Returns a copy, creating objects that are missing on the path. */
function changed(value: unknown, [step, ...rest]: readonly string[], to: unknown): unknown {
  if (step === undefined) return to;
  if (Array.isArray(value) && /^\d{1,4}$/.test(step) && Number(step) <= value.length) {
    return value.toSpliced(Number(step), 1, changed(value[Number(step)], rest, to));
  }
  const members = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  const member = Object.hasOwn(members, step) ? (members as Record<string, unknown>)[step] : undefined;
  return { ...members, [step]: changed(member, rest, to) };
}
