import { hash } from "node:crypto";

/** SHA-256 of an event's bytes: SQLite notices no flipped bit in a row's data. */
export function bodyHash(body: Uint8Array): Buffer {
  // As a Buffer, each would be an allocation of its own outside the heap, and cost half as much again.
  return Buffer.from(hash("sha256", body, "binary"), "binary");
}
