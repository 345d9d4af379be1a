/** The names of event types on a command line, and event types as text. */
import type { EventType } from "../../src/client/operations.ts";
import { ClientError, type Client } from "../../src/client/client.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { Failure } from "../failure.ts";

export const TYPE = {
  type: "positional",
  required: true,
  valueHint: "TYPE",
  description: "Name of the event type",
} as const;

/** Returns the type of this name. If there is none, throws a Failure that names the type that was probably meant. */
export async function typeNamed(name: string, client: Client): Promise<EventType> {
  try {
    return await client.call("getEventType", { id: name });
  } catch (error) {
    if (!(error instanceof ClientError) || error.failure !== "not_found") throw error;
    const { data } = await client.call("listEventTypes").catch(() => ({ data: [] }));
    const near = nearest(
      name,
      data.map((type) => type.name),
    );
    if (near === null) throw error;
    throw new Failure("not_found", error.message, `Did you mean ${near}? See \`webhookd types list\`.`, error.code);
  }
}

/** Returns all of a type's settings, as a PUT takes them. */
export function settingsOf(type: EventType) {
  const { description, schema, sample, group, validation, deprecated, sunset_at, archived } = type;
  return { description, schema, sample, group, validation, deprecated, sunset_at, archived };
}

/** Describes, for each origin of a type, whether the type can be changed. */
export const ORIGIN: { readonly [O in EventType["defined_in"]]: string } = {
  specification: "the specification; it is fixed",
  configuration: "[[event_types]] of the configuration; it can only be changed there",
  api: "the store",
};

export function validationText(validation: EventType["validation"]): string {
  return validation ?? "as [events] validate says";
}
