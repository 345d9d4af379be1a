/** Writes a short text that a regular expression matches, for those expressions that schemas of data use. */

const MAX_LENGTH = 200;

/** Returns null for an expression with parts that this does not know, such as a look-ahead. */
export function textMatching(pattern: string): string | null {
  const reader = new Reader(pattern);
  const text = reader.choice();
  return reader.isDone ? text : null;
}

const CLASSES: Readonly<Record<string, string>> = { d: "0", w: "a", s: " ", D: "a", S: "a", W: " ", t: "\t", n: "\n" };

/** Reads a choice of sequences from the start to the end. It takes the first of each choice. */
class Reader {
  readonly #pattern: string;
  #at = 0;
  #isUnknown = false;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  get isDone(): boolean {
    return !this.#isUnknown && this.#at >= this.#pattern.length;
  }

  choice(): string {
    const first = this.#sequence();
    while (this.#take("|")) this.#sequence();
    return first;
  }

  #sequence(): string {
    let text = "";
    while (this.#at < this.#pattern.length && !"|)".includes(this.#next) && !this.#isUnknown) {
      const atom = this.#atom();
      const times = this.#times();
      if (atom.length * times + text.length > MAX_LENGTH) return this.#unknown();
      text += atom.repeat(times);
    }
    return text;
  }

  #atom(): string {
    const char = this.#read();
    switch (char) {
      case "^":
      case "$":
        return "";
      case ".":
        return "x";
      case "(": {
        if (this.#take("?") && !this.#take(":")) return this.#unknown();
        const text = this.choice();
        return this.#take(")") ? text : this.#unknown();
      }
      case "[":
        return this.#set();
      case "\\":
        return this.#escape();
      default:
        return "*+?{}".includes(char) ? this.#unknown() : char;
    }
  }

  #escape(): string {
    const char = this.#read();
    if (Object.hasOwn(CLASSES, char)) return CLASSES[char]!;
    return /[A-Za-z0-9]/.test(char) || char === "" ? this.#unknown() : char;
  }

  /** Returns the first character of a set that is not negated. */
  #set(): string {
    if (this.#take("^")) return this.#unknown();
    const first = this.#take("\\") ? this.#escape() : this.#read();
    while (this.#at < this.#pattern.length && !this.#take("]")) if (this.#read() === "\\") this.#read();
    return first;
  }

  /** As few times as may be, but once rather than never. */
  #times(): number {
    const [quantifier = "", least] =
      /^(?:[*+?]|\{(\d{1,4})(?:,\d{0,4})?\})\??/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += quantifier.length;
    return least === undefined ? 1 : Number(least);
  }

  get #next(): string {
    return this.#pattern[this.#at] ?? "";
  }

  #read(): string {
    return this.#pattern[this.#at++] ?? "";
  }

  #take(char: string): boolean {
    if (this.#next !== char) return false;
    this.#at++;
    return true;
  }

  #unknown(): string {
    this.#isUnknown = true;
    return "";
  }
}
