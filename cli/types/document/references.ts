/** Follows references within a document. */

export type Part = Readonly<Record<string, unknown>>;

/** Says why a type cannot be imported, as the end of a sentence about it. */
export class NotImportable extends Error {
  override readonly name = "NotImportable";
}

export function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** More references one after the other lead in a circle. */
const MAX_STEPS = 100;

/** The end of a reference, and the last word of the reference, which names it. */
export interface Target {
  readonly value: unknown;
  readonly key: string;
}

/** A document, or a part of it that has its own `$id`. References count from here. */
export class Root {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  /** Throws NotImportable for another document, and for a place that there is not. */
  at(ref: string): Target {
    if (ref === "#") return { value: this.#value, key: "root" };
    if (!ref.startsWith("#")) throw new NotImportable(`refers to another document, ${ref}; put it into this one`);
    if (!ref.startsWith("#/")) throw new NotImportable(`refers to the anchor ${ref}; refer to it by its path`);
    let value = this.#value;
    let key = "";
    for (const step of ref.slice(2).split("/")) {
      key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      value =
        typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Part)[key] : undefined;
    }
    if (value === undefined) throw new NotImportable(`refers to ${ref}, which is not in the document`);
    return { value, key };
  }

  /** Follows an object that may be a reference to its end. `key` is null if it is none. */
  object(given: unknown, what: string): { readonly part: Part; readonly key: string | null } {
    let [value, key]: [unknown, string | null] = [given, null];
    for (let step = 0; step < MAX_STEPS; step++) {
      if (!isPart(value)) throw new NotImportable(`has ${what} that is not an object`);
      const { $ref: ref } = value;
      if (typeof ref !== "string") return { part: value, key };
      ({ value, key } = this.at(ref));
    }
    throw new NotImportable(`has ${what} whose references are circular`);
  }
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
