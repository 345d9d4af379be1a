/** Filters as stores keep them, as text: each is compiled once, however many endpoints have it. */
import { type Filter, isFilter, parseFilter } from "./filter.ts";

/** Beyond this number, the cache is emptied. */
const MAX_COMPILED = 10_000;

export class CompiledFilters {
  readonly #byText = new Map<string, Filter | null>();

  /**
   * Null accepts every event. So does damaged text: the endpoint then gets nothing until it is repaired, and afterwards
   * nothing is lost.
   */
  of(text: string | null): Filter | null {
    if (text === null) return null;
    let filter = this.#byText.get(text);
    if (filter === undefined) {
      if (this.#byText.size >= MAX_COMPILED) this.#byText.clear();
      this.#byText.set(text, (filter = compiled(text)));
    }
    return filter;
  }
}

function compiled(text: string): Filter | null {
  try {
    const read = parseFilter(JSON.parse(text));
    return isFilter(read) ? read : null;
  } catch {
    return null;
  }
}
