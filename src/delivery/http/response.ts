import type { Outcome } from "../../domain/deliveries/attempt.ts";

/** The beginning of a response body: what may be kept of it, and how much of it there was. */
export class KeptBody {
  seen = 0;
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.seen += chunk.length;
    if (this.#kept === this.#limit) return;
    // A copy: the chunk is a window into the socket's buffer of 64 KiB and would keep all of it (a Buffer's own `slice` is one too).
    const part = Uint8Array.prototype.slice.call(chunk, 0, this.#limit - this.#kept);
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  get truncated(): boolean {
    return this.seen > this.#kept;
  }

  bytes(): Uint8Array {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }
}

/** As undici gives them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

const KEPT_CHARS = 256;
const KEPT = ["content-type", "retry-after", "server", "date", "location"] as const;

/** The few headers that are kept of one receiver's answers. As long as they repeat, so does the object that holds them. */
export class KeptHeaders {
  #last: Outcome["responseHeaders"] = {};

  of(headers: Headers): Outcome["responseHeaders"] {
    if (KEPT.every((name) => this.#last[name] === cut(headers[name]))) return this.#last;
    const kept: Record<string, string> = {};
    for (const name of KEPT) {
      const text = cut(headers[name]);
      if (text !== undefined) kept[name] = text;
    }
    return (this.#last = kept);
  }
}

function cut(value: string | string[] | undefined): string | undefined {
  const text = typeof value === "object" ? value[0] : value;
  return text === undefined || text.length <= KEPT_CHARS ? text : text.slice(0, KEPT_CHARS);
}
