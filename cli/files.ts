/** Reads and creates files named by flags. No message repeats their contents. */
import { closeSync, fsyncSync, openSync, readSync, statSync, unlinkSync, writeSync } from "node:fs";
import { NotUtf8, utf8Of } from "../src/domain/utf8.ts";
import { Failure, usage } from "./failure.ts";
import type { Io } from "./io.ts";

/** `what` is the flag's name in messages. Throws a Failure with exit code 2. */
export function readFile(file: string, what: string, maxBytes: number): Buffer {
  try {
    const { size } = statSync(file);
    if (size > maxBytes) throw usage(`${what}: ${file} is ${size} bytes, and the limit is ${maxBytes}`);
    return readUpTo(file, what, maxBytes);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw usage(`${what}: ${file} cannot be read (${code === "ENOENT" ? "there is no such file" : code})`);
  }
}

/** Stops at the limit, because a pipe or a device does not report its size and may never end. */
function readUpTo(file: string, what: string, maxBytes: number): Buffer {
  const fd = openSync(file, "r");
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const read = readSync(fd, chunk);
      if (read === 0) return Buffer.concat(chunks);
      size += read;
      if (size > maxBytes) throw usage(`${what}: ${file} has more than ${maxBytes} bytes, which is the limit`);
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

/** Reads a file as text. If it is not UTF-8, throws a Failure that names the offending line. */
export function readText(file: string, what: string, maxBytes: number): string {
  return textOf(readFile(file, what, maxBytes), file);
}

/** `name` is the source of the bytes in messages. */
export function textOf(bytes: Uint8Array, name: string): string {
  try {
    return utf8Of(bytes);
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    throw usage(`${name}${error.message}`, "Save it as UTF-8.");
  }
}

/** Reads a file as text, or stdin if `file` is `-`. */
export async function readInputText(file: string, what: string, maxBytes: number, io: Io): Promise<string> {
  return textOf(await readInput(file, what, maxBytes, io), file === "-" ? "stdin" : file);
}

/** Reads a file, or stdin if `file` is `-`. */
async function readInput(file: string, what: string, maxBytes: number, { stdin }: Io): Promise<Buffer> {
  if (file !== "-") return readFile(file, what, maxBytes);
  if (stdin.isTTY) throw usage(`${what} - reads from a pipe, but there is none`);
  return stdin.read();
}

/**
 * Creates a file that only its owner may read, then runs `make` and writes the secret into the file. This order finds
 * out before the secret exists if the file cannot be created. Without a name nothing is written. Never replaces an
 * existing file.
 */
export async function keepingIn<T>(
  file: string | undefined,
  { make, secret }: { readonly make: () => Promise<T>; readonly secret: (made: T) => string },
): Promise<T> {
  if (file === undefined) return make();
  const descriptor = create(file);
  try {
    let made: T;
    try {
      made = await make();
    } catch (error) {
      unlinkSync(file);
      throw error;
    }
    writeSync(descriptor, `${secret(made)}\n`);
    fsyncSync(descriptor);
    return made;
  } finally {
    closeSync(descriptor);
  }
}

function create(file: string): number {
  try {
    return openSync(file, "wx", 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const what = code === "EEXIST" ? `${file} already exists` : `${file} cannot be written (${code})`;
    throw usage(what, "Name another file.");
  }
}
