import type { Outcome } from "../../domain/attempt.ts";

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
