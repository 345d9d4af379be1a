/** Converts flags about an event type into the fields of a draft or change. */
import { VALIDATIONS } from "../../src/domain/events/catalogue.ts";
import type { ArgsOf } from "../command.ts";
import { readData } from "../events/data.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";

const CONFIGURED = "configured";
const NONE = "none";

/** The settings of an event type besides its name. */
export const SETTINGS = {
  description: { type: "string", valueHint: "TEXT", description: "What the event says, on one line" },
  schema: {
    type: "string",
    valueHint: "@FILE",
    description: "JSON Schema of the data: @FILE, - for stdin, or inline JSON",
  },
  sample: {
    type: "string",
    valueHint: "@FILE",
    description: "Example of the data, which test events send: @FILE, - for stdin, or inline JSON",
  },
  group: { type: "string", valueHint: "WORD", description: "Word under which types are shown together, or none" },
  validation: {
    type: "enum",
    options: [...VALIDATIONS, CONFIGURED],
    description: "What to do with data that does not match the schema; configured: as [events] validate says",
  },
  deprecated: {
    type: "boolean",
    negatable: true,
    description: "Tell publishers that the type is deprecated",
    negativeDescription: "Tell them no more",
  },
  sunset: {
    type: "string",
    valueHint: "WHEN",
    description: "For a deprecated type, when its events are expected to end: a date, an instant, or none",
  },
} as const;

/** Returns only the fields that were given. Throws a Failure with exit code 2 if a value is not valid. */
export async function readSettings(args: ArgsOf<typeof SETTINGS>, io: Io): Promise<Readonly<Record<string, unknown>>> {
  const { description, schema, sample, group, validation, deprecated, sunset } = args;
  if (schema === "-" && sample === "-") throw usage("--schema and --sample cannot both be stdin");
  return {
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema: await readObject(schema, "--schema", io) }),
    ...(sample !== undefined && { sample: await readObject(sample, "--sample", io) }),
    ...(group !== undefined && { group: group === NONE ? null : group }),
    ...(validation !== undefined && { validation: validation === CONFIGURED ? null : validation }),
    ...(deprecated !== undefined && { deprecated }),
    ...(sunset !== undefined && { sunset_at: sunset === NONE ? null : instantOf(sunset) }),
  };
}

async function readObject(typed: string, flag: string, io: Io): Promise<object> {
  return JSON.parse(await readData(typed, io, { flag, what: `The value of ${flag}` })) as object;
}

/** A date stands for its first instant in UTC. */
function instantOf(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}
