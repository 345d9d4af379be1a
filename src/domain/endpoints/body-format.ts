/**
 * The body of a request, in the format that its endpoint chose: the envelope, a CloudEvent (spec 1.0.2, in the
 * structured or the binary mode of its HTTP binding), or the data alone. The signatures cover the result.
 */
import { ENVELOPE_END, envelopeHead } from "../events/event.ts";

export const BODY_FORMATS = ["envelope", "cloudevents", "cloudevents_binary", "data"] as const;
export type BodyFormat = (typeof BODY_FORMATS)[number];

/** Returns null for a format that only a newer daemon knows. */
export function formatNamed(name: string): BodyFormat | null {
  return BODY_FORMATS.find((known) => known === name) ?? null;
}

/** The event that is sent, without its data. None of these texts needs to be escaped in JSON or in a header. */
export interface EventHead {
  readonly id: string;
  readonly type: string;
  /** ISO 8601, in UTC. */
  readonly createdAt: string;
  readonly tenant: string;
}

export interface BodyShape {
  readonly contentType: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body is the data between these texts, which are ASCII. */
  readonly before: string;
  readonly after: string;
}

const JSON_TYPE = "application/json";
const DATA_ALONE = { contentType: JSON_TYPE, headers: [], before: "", after: "" } as const;

export function shapeOf(format: BodyFormat, { id, type, createdAt, tenant }: EventHead): BodyShape {
  switch (format) {
    case "envelope":
      return { ...DATA_ALONE, before: envelopeHead(id, type, createdAt), after: ENVELOPE_END };
    case "cloudevents": {
      const context = `"specversion":"1.0","id":"${id}","source":"${sourceOf(tenant)}","type":"${type}"`;
      const before = `{${context},"time":"${createdAt}","datacontenttype":"${JSON_TYPE}","data":`;
      return { contentType: "application/cloudevents+json", headers: [], before, after: "}" };
    }
    case "cloudevents_binary": {
      const values = ["1.0", id, sourceOf(tenant), type, createdAt];
      return { ...DATA_ALONE, headers: BINARY_HEADERS.map((name, at) => [name, values[at]!]) };
    }
    case "data":
      return DATA_ALONE;
  }
}

/** The headers of the binary mode. `content-type` takes the place of `datacontenttype`. */
export const BINARY_HEADERS = ["ce-specversion", "ce-id", "ce-source", "ce-type", "ce-time"] as const;

/**
 * Returns those of the endpoint's own headers that are sent. An endpoint may have been given one before it chose a
 * format that sets the header itself.
 */
export function sentOwnHeaders(format: BodyFormat | null, names: readonly string[]): readonly string[] {
  if (format !== "cloudevents_binary") return names;
  const taken: ReadonlySet<string> = new Set(BINARY_HEADERS);
  return names.filter((name) => !taken.has(name.toLowerCase()));
}

/** Returns a URI reference, as `source` must be. With the id it names the event, everywhere. */
function sourceOf(tenant: string): string {
  return `/tenants/${tenant}`;
}

/** Returns the body. The data alone is not copied. */
export function bodyIn({ before, after }: BodyShape, data: Uint8Array): Uint8Array {
  if (before === "" && after === "") return data;
  const [head, tail] = [before, after].map((text) => new TextEncoder().encode(text)) as [Uint8Array, Uint8Array];
  const body = new Uint8Array(head.length + data.length + tail.length);
  body.set(head);
  body.set(data, head.length);
  body.set(tail, head.length + data.length);
  return body;
}
