/** Shows the beginning of a value as JSON, for people. The cost is small, however large the value is. */

/** Returns the JSON of the value, cut with `…` after `most` characters. */
export function excerptOf(value: unknown, most: number): string {
  const text = new Excerpt(most);
  text.add(value);
  return text.text.length <= most ? text.text : `${text.text.slice(0, most).toWellFormed()}…`;
}

class Excerpt {
  text = "";
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds at least as much of the value as is shown. */
  add(value: unknown): void {
    if (this.text.length > this.#most) return;
    if (Array.isArray(value)) this.#list("[", value, (item) => this.add(item), "]");
    else if (typeof value === "object" && value !== null)
      this.#list("{", Object.entries(value), (entry) => this.#member(entry), "}");
    else this.text += JSON.stringify(typeof value === "string" ? value.slice(0, this.#most + 1) : value);
  }

  #list<T>(begin: string, parts: readonly T[], add: (part: T) => void, end: string): void {
    this.text += begin;
    for (const [at, part] of parts.entries()) {
      if (this.text.length > this.#most) return;
      if (at > 0) this.text += ",";
      add(part);
    }
    this.text += end;
  }

  #member([name, value]: readonly [string, unknown]): void {
    this.add(name);
    this.text += ":";
    this.add(value);
  }
}
