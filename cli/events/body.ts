/**
 * Rebuilds an event's body, as it is signed and sent, from the daemon's response. Its `data` must not pass through a
 * JSON parser, which would change the bytes.
 */
import type { Event } from "../../src/client/operations.ts";
import {
  bodyIn,
  formatNamed,
  shapeOf,
  type BodyFormat,
  type BodyShape,
} from "../../src/domain/endpoints/body-format.ts";
import type { Span } from "../../src/domain/json/json-token.ts";
import { scanObject } from "../../src/domain/json/json.ts";
import { Failure } from "../failure.ts";

/** The body, with the headers that describe it. */
export interface SentBody extends Pick<BodyShape, "contentType" | "headers"> {
  readonly body: Buffer;
}

/** Returns the body as an endpoint of this format gets it. Throws if the data was erased, or the format is unknown. */
export function bodyOf(answer: string, named: BodyFormat = "envelope"): SentBody {
  const { id, type, created_at: createdAt, tenant } = JSON.parse(answer) as Event;
  const data = dataOf(answer);
  if (data !== null) {
    const format = formatNamed(named) ?? unknown(named);
    const shape = shapeOf(format, { id, type, createdAt, tenant });
    return { contentType: shape.contentType, headers: shape.headers, body: Buffer.from(bodyIn(shape, data)) };
  }
  throw new Failure(
    "conflict",
    `the data of ${id} was erased`,
    `Its attempts are kept: webhookd attempts list ${id}`,
    "gone",
  );
}

function unknown(format: string): never {
  const what = `this webhookd does not know the format ${format} of the endpoint's body`;
  throw new Failure("refused", what, "The daemon is newer: use the webhookd of its version.");
}

/** Returns the bytes that were published, or null if they were erased. */
export function dataOf(answer: string): Buffer | null {
  const bytes = Buffer.from(answer);
  const span: Span & { readonly kind: string } = scanObject(bytes).get("data")!;
  return span.kind === "null" ? null : bytes.subarray(span.start, span.end);
}
