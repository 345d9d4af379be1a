/** Reads the event types of a command line, and checks them against the daemon's catalogue where that helps. */
import { ClientError, type Client } from "../../src/client/client.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { typeNotes } from "../../src/client/type-notes.ts";
import { isPattern } from "../../src/domain/events/pattern.ts";
import { Failure } from "../failure.ts";

/** Reads names and patterns separated by commas, or `all`, which stands for every type on offer now. */
export async function readTypes(text: string, client: Client): Promise<readonly string[]> {
  return text === "all" ? offeredTypes(client) : text.split(",").map((name) => name.trim());
}

/** Returns the names of the types that an endpoint may choose: all but the archived ones. */
export async function offeredTypes(client: Client): Promise<string[]> {
  const { data } = await client.call("listEventTypes");
  return data.filter(({ archived }) => !archived).map(({ name }) => name);
}

/** If a type is unknown, throws an error that names it and the one that was probably meant. */
export async function suggesting<T>(types: readonly string[], client: Client, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const isType = error instanceof ClientError && error.faults.some(({ code }) => code === "unknown_event_type");
    if (!isType) throw error;
    const known = await catalogue(client).catch(() => null);
    const unknown = known === null ? undefined : types.find((type) => !isPattern(type) && !known.includes(type));
    if (known === null || unknown === undefined) throw error;
    const near = nearest(unknown, known);
    const hint = near === null ? `The event types are ${known.join(", ")}.` : `Did you mean ${near}?`;
    throw new Failure(
      "usage",
      `there is no event type "${unknown}"`,
      `${hint} Nothing was done.`,
      "unknown_event_type",
    );
  }
}

/** Like `typeNotes`, but empty if the catalogue cannot be read. */
export async function noteLines(events: readonly string[], client: Client): Promise<readonly string[]> {
  const known = await client.call("listEventTypes").catch(() => null);
  return known === null ? [] : typeNotes(events, known.data);
}

async function catalogue(client: Client): Promise<string[]> {
  const { data } = await client.call("listEventTypes");
  return data.map(({ name }) => name);
}
