/** Keeps requests in files: the raw body, and the headers beside it. Only the owner may read them. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isId } from "../../../src/domain/id.ts";
import { Failure } from "../../failure.ts";
import type { Received } from "./server.ts";

export class KeptRequests {
  readonly #dir: string;
  #count: number;

  /** Throws a Failure if the folder cannot be created. */
  constructor(dir: string) {
    this.#dir = dir;
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      const numbers = readdirSync(dir).map((name) => Number(/^(\d{4,9})-/.exec(name)?.[1] ?? 0));
      this.#count = numbers.reduce((most, number) => Math.max(most, number), 0);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new Failure(
        "refused",
        `--save: ${dir} cannot be created or read (${code})`,
        "Choose another directory. Nothing was done.",
      );
    }
  }

  /** Returns the path of the body. Never overwrites a file, so files from earlier runs stay. */
  keep({ headers, rawHeaders, body }: Received): string {
    const named = String(headers["webhook-id"] ?? "");
    // Outside text must not become part of a path.
    const name = isId("evt", named) ? named : "request";
    const lines = rawHeaders.flatMap((text, index) => (index % 2 === 0 ? [`${text}: ${rawHeaders[index + 1]}\n`] : []));
    for (;;) {
      const file = join(this.#dir, `${String(++this.#count).padStart(4, "0")}-${name}`);
      if (!writeNew(`${file}.body`, body)) continue;
      writeNew(`${file}.headers`, lines.join(""));
      return `${file}.body`;
    }
  }
}

function writeNew(file: string, content: string | Buffer): boolean {
  try {
    writeFileSync(file, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
