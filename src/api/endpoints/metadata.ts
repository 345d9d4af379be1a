/** Metadata is a JSON object that the owner of an endpoint may store. */
import * as v from "valibot";
import { anObject } from "../pipeline/shapes.ts";

const MAX_METADATA_BYTES = 4096;

export function metadata() {
  const fits = (value: Record<string, unknown>) => Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES;
  return v.pipe(
    anObject(),
    v.check(
      (value) => keepsNumbers(value),
      "invalid_type: contains a number that cannot be stored exactly; give it as a string",
    ),
    v.check(fits, `too_long: must be at most ${MAX_METADATA_BYTES} bytes of JSON`),
    v.metadata({ title: "Metadata", description: `For your own use: at most ${MAX_METADATA_BYTES} bytes of JSON.` }),
  );
}

/** JSON.stringify turns `1e400` into null, and rounds a 64-bit id to its neighbour. */
function keepsNumbers(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(keepsNumbers);
  return typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}
