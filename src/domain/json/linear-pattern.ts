/**
 * Regular expressions of JSON Schemas, matched in linear time. V8 goes back and tries again, which takes minutes for some
 * patterns on a text of thirty characters, and nobody else is served meanwhile. Here all possible places in the pattern
 * move on together, one character at a time (Thompson), and the steps are counted.
 */

/** The most places in one pattern, once repetitions are written out. */
const MAX_PLACES = 5000;

/** The steps that patterns may still take. */
export interface Steps {
  left: number;
}

/** Thrown by a comparison that may take no more steps. */
export class OutOfSteps extends Error {
  override readonly name = "OutOfSteps";
}

/** The message is the end of a sentence about a schema. */
export class UnsupportedPattern extends Error {
  override readonly name = "UnsupportedPattern";
}

type IsOne = (code: number) => boolean;
type Assertion = "^" | "$" | "\\b" | "\\B";

/** A part of a pattern: one character, a place between two, or others. */
type Part =
  | { readonly kind: "one"; readonly is: IsOne }
  | { readonly kind: "between"; readonly assertion: Assertion }
  | { readonly kind: "all"; readonly parts: readonly Part[] }
  | { readonly kind: "any"; readonly parts: readonly Part[] }
  | { readonly kind: "times"; readonly part: Part; readonly least: number; readonly most: number };

/** A place in a compiled pattern. A text matches if its end can be reached. */
type Place =
  | { readonly kind: "one"; readonly is: IsOne }
  | { readonly kind: "between"; readonly assertion: Assertion }
  | { readonly kind: "fork"; to: number }
  | { readonly kind: "jump"; to: number }
  | { readonly kind: "end" };

export class LinearPattern {
  readonly #source: string;
  readonly #steps: Steps;
  readonly #places: Place[] = [];
  /** The places that are reached now, and the number of the position at which each was reached last. */
  #now = new Uint16Array(0);
  #next = new Uint16Array(0);
  #reachedAt = new Float64Array(0);
  #position = 0;
  /** The number of places in `#next`. */
  #count = 0;

  /** Throws a SyntaxError, or an `UnsupportedPattern`. */
  constructor(source: string, steps: Steps) {
    this.#source = source;
    this.#steps = steps;
    // The parser relies on a pattern that is valid.
    this.#compile(new Parser(RegExp(source, "u") && source).parse());
    this.#add({ kind: "end" });
    const { length } = this.#places;
    this.#now = new Uint16Array(length);
    this.#next = new Uint16Array(length);
    this.#reachedAt = new Float64Array(length);
  }

  toString(): string {
    return `/${this.#source}/u`;
  }

  /** Throws `OutOfSteps`. */
  test(text: string): boolean {
    let code = text.codePointAt(0) ?? -1;
    this.#begin();
    if (this.#reach(0, -1, code)) return true;
    for (let at = 0; code !== -1;) {
      at += code > 0xffff ? 2 : 1;
      const after = text.codePointAt(at) ?? -1;
      const count = this.#count;
      [this.#now, this.#next] = [this.#next, this.#now];
      this.#begin();
      for (let index = 0; index < count; index++) {
        const place = this.#now[index]!;
        const one = this.#places[place]!;
        this.#step();
        if (one.kind === "one" && one.is(code) && this.#reach(place + 1, code, after)) return true;
      }
      // A match may begin at any character.
      if (this.#reach(0, code, after)) return true;
      code = after;
    }
    return false;
  }

  #step(): void {
    if (--this.#steps.left < 0) throw new OutOfSteps();
  }

  #begin(): void {
    this.#position++;
    this.#count = 0;
  }

  /** Adds the places that can be reached without a character. Returns true if the end is among them. */
  #reach(from: number, before: number, after: number): boolean {
    const open = [from];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (this.#reachedAt[place] === this.#position) continue;
      this.#step();
      this.#reachedAt[place] = this.#position;
      const one = this.#places[place]!;
      if (one.kind === "end") return true;
      if (one.kind === "one") this.#next[this.#count++] = place;
      else if (one.kind === "jump") open.push(one.to);
      else if (one.kind === "fork") open.push(one.to, place + 1);
      else if (holds(one.assertion, before, after)) open.push(place + 1);
    }
    return false;
  }

  #add<P extends Place>(place: P): P {
    if (this.#places.push(place) > MAX_PLACES)
      throw new UnsupportedPattern("has a pattern that repeats too many characters");
    return place;
  }

  #compile(part: Part): void {
    if (part.kind === "one" || part.kind === "between") this.#add(part);
    else if (part.kind === "times") this.#compileTimes(part);
    else if (part.kind === "any") this.#compileAny(part.parts);
    else for (const one of part.parts) this.#compile(one);
  }

  #compileAny(parts: readonly Part[]): void {
    const jumps: { to: number }[] = [];
    for (const [at, part] of parts.entries()) {
      const fork = at < parts.length - 1 ? this.#add({ kind: "fork", to: 0 }) : null;
      this.#compile(part);
      if (fork === null) continue;
      jumps.push(this.#add({ kind: "jump", to: 0 }));
      fork.to = this.#places.length;
    }
    for (const jump of jumps) jump.to = this.#places.length;
  }

  #compileTimes({ part, least, most }: Extract<Part, { kind: "times" }>): void {
    const first = this.#places.length;
    for (let count = 0; count < least; count++) {
      this.#compile(part);
      // Nothing, however often, is nothing.
      if (this.#places.length === first) return;
    }
    if (most === Number.POSITIVE_INFINITY) {
      const begin = this.#places.length;
      const fork = this.#add({ kind: "fork", to: 0 });
      this.#compile(part);
      this.#add({ kind: "jump", to: begin });
      fork.to = this.#places.length;
      return;
    }
    const forks: { to: number }[] = [];
    for (let count = least; count < most; count++) {
      forks.push(this.#add({ kind: "fork", to: 0 }));
      this.#compile(part);
    }
    for (const fork of forks) fork.to = this.#places.length;
  }
}

function holds(assertion: Assertion, before: number, after: number): boolean {
  if (assertion === "^") return before === -1;
  if (assertion === "$") return after === -1;
  return (isWord(before) !== isWord(after)) === (assertion === "\\b");
}

function isWord(code: number): boolean {
  return code >= 0 && isWordCharacter(code);
}

/** One character as it is written in a pattern: a class, an escape, or itself. */
const ONE =
  /\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\c[A-Za-z]|\\.|./suy;
const TIMES = /(?:(?<sign>[*+?])|\{(?<least>\d+)(?<range>,(?<most>\d*))?\})\??/uy;
const GROUP = /\((?:\?:|\?<(?![=!])[^>]*>)?(?!\?)/uy;

/** Reads a valid pattern. */
class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Part {
    const parts: Part[] = [this.#all()];
    while (this.#text[this.#at] === "|") {
      this.#at++;
      parts.push(this.#all());
    }
    return parts.length === 1 ? parts[0]! : { kind: "any", parts };
  }

  #all(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#text.length && !"|)".includes(this.#text[this.#at]!)) parts.push(this.#repeated());
    return { kind: "all", parts };
  }

  #repeated(): Part {
    const part = this.#single();
    const { sign, least, range, most } = this.#take(TIMES)?.groups ?? {};
    if (sign === undefined && least === undefined) return part;
    if (sign !== undefined)
      return { kind: "times", part, least: +(sign === "+"), most: sign === "?" ? 1 : Number.POSITIVE_INFINITY };
    const upTo = range === undefined ? Number(least) : most === "" ? Number.POSITIVE_INFINITY : Number(most);
    return { kind: "times", part, least: Number(least), most: upTo };
  }

  #single(): Part {
    const char = this.#text[this.#at]!;
    if (char === "(") return this.#group();
    if (char === "^" || char === "$") {
      this.#at++;
      return { kind: "between", assertion: char };
    }
    const [written] = this.#take(ONE)!;
    if (written === "\\b" || written === "\\B") return { kind: "between", assertion: written };
    if (/^\\[1-9k]/u.test(written)) throw new UnsupportedPattern("has a pattern with a reference back to a group");
    return { kind: "one", is: isOne(written) };
  }

  #group(): Part {
    if (this.#take(GROUP) === null)
      throw new UnsupportedPattern("has a pattern that looks ahead or behind, or has flags");
    const part = this.parse();
    this.#at++;
    return part;
  }

  #take(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.#at;
    const found = form.exec(this.#text);
    if (found !== null) this.#at = form.lastIndex;
    return found;
  }
}

/** The characters whose answers are remembered: most texts have no others. */
const ASCII = 128;

function isOne(written: string): IsOne {
  const form = RegExp(`^(?:${written})$`, "u");
  const ascii = Array.from({ length: ASCII }, (_, code) => form.test(String.fromCharCode(code)));
  return (code) => (code < ASCII ? ascii[code]! : form.test(String.fromCodePoint(code)));
}

const isWordCharacter = isOne("\\w");
