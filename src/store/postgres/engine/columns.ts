/**
 * Sends columns of many rows as binary arrays. As text, each body would be written in hex and parsed again, which would
 * cost both sides more than the rest of its row.
 */

/** Writes one kind of value. The size is null for a value that only text can express, so that the server judges it. */
interface Kind {
  readonly oid: number;
  size(value: unknown): number | null;
  /** Writes the value at this place. Its size is known. */
  write(to: Buffer, value: unknown, at: number): void;
}

const ARRAY_BYTES = 20;
const TWO_POW_32 = 2 ** 32;

function whole(
  oid: number,
  bytes: number,
  limit: number,
  write: (to: Buffer, value: number, at: number) => void,
): Kind {
  const isOne = (value: unknown) => Number.isSafeInteger(value) && Math.abs(value as number) <= limit;
  return {
    oid,
    size: (value) => (isOne(value) ? bytes : null),
    write: (to, value, at) => write(to, value as number, at),
  };
}

const KINDS: Readonly<Record<string, Kind>> = {
  smallint: whole(21, 2, 0x7f_ff, (to, value, at) => to.writeInt16BE(value, at)),
  integer: whole(23, 4, 0x7f_ff_ff_ff, (to, value, at) => to.writeInt32BE(value, at)),
  bigint: whole(20, 8, Number.MAX_SAFE_INTEGER, (to, value, at) => {
    to.writeInt32BE(Math.floor(value / TWO_POW_32), at);
    to.writeUInt32BE(((value % TWO_POW_32) + TWO_POW_32) % TWO_POW_32, at + 4);
  }),
  text: {
    oid: 25,
    size: (value) => (typeof value === "string" ? Buffer.byteLength(value) : null),
    write: (to, value, at) => to.write(value as string, at, "utf8"),
  },
  bytea: {
    oid: 17,
    size: (value) => (value instanceof Uint8Array ? value.length : null),
    write: (to, value, at) => to.set(value as Uint8Array, at),
  },
};

const COLUMN = /\$(\d+)::(\w+)\[\]/g;

/** Returns the kind of array for each value of a statement, as the statement's text declares it. */
export function kindsIn(sql: string): ReadonlyMap<number, Kind> {
  const found = new Map<number, Kind>();
  for (const [, place, name] of sql.matchAll(COLUMN)) {
    const kind = KINDS[name!];
    if (kind !== undefined) found.set(Number(place) - 1, kind);
  }
  return found;
}

/** Returns the array in binary, or unchanged if a value in it has the wrong type. */
export function columnOf(values: readonly unknown[], kind: Kind): Buffer | readonly unknown[] {
  if (values.length === 0) return values;
  let bytes = ARRAY_BYTES + 4 * values.length;
  let nulls = 0;
  for (const value of values) {
    if (value === null || value === undefined) {
      nulls++;
      continue;
    }
    const size = kind.size(value);
    if (size === null) return values;
    bytes += size;
  }
  // If columns stand side by side, the server pads a shorter one with NULL.
  if (nulls === values.length) return [];
  const to = Buffer.allocUnsafe(bytes);
  // There is one dimension, whose first index is 1.
  [1, +(nulls > 0), kind.oid, values.length, 1].forEach((word, at) => to.writeInt32BE(word, at * 4));
  let at = ARRAY_BYTES;
  for (const value of values) {
    const size = value === null || value === undefined ? -1 : kind.size(value)!;
    to.writeInt32BE(size, at);
    at += 4;
    if (size === -1) continue;
    kind.write(to, value, at);
    at += size;
  }
  return to;
}
