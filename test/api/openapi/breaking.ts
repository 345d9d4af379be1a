/**
 * Compares two API descriptions, and reports changes that break a client or receiver written for the older one: see
 * `docs/interface.md` §9.
 */

type Json = Record<string, any>;

/** A request may not need more than before, and a response may not contain less. */
type Direction = "request" | "answer";

/** Returns one sentence for each break. Additions are not breaks. */
export function breaks(kept: Json, current: Json): string[] {
  return new Comparison(kept, current).all();
}

class Comparison {
  readonly #kept: Json;
  readonly #current: Json;
  readonly #found: string[] = [];

  constructor(kept: Json, current: Json) {
    this.#kept = kept;
    this.#current = current;
  }

  all(): string[] {
    this.#each("", this.#kept.paths, this.#current.paths, (path, kept, current) =>
      this.#each(`${path} `, kept, current, (operation, was, is) => this.#operation(operation, was, is)),
    );
    this.#each("webhook ", this.#kept.webhooks, this.#current.webhooks, (name, kept, current) =>
      this.#webhook(name, kept.post, current.post),
    );
    return this.#found;
  }

  #operation(at: string, kept: Json, current: Json): void {
    this.#same(`${at}'s operationId`, kept.operationId, current.operationId);
    const [was, is] = [neededFor(kept), neededFor(current)];
    const isLooser = is === NO_KEY || (is === ANY_KEY && was !== NO_KEY);
    if (!isLooser) this.#same(`${at}'s scope`, was, is);
    this.#parameters(at, kept.parameters, current.parameters, "request");
    this.#body(at, kept.requestBody, current.requestBody);
    this.#each(`${at} `, kept.responses, current.responses, (status, was, is) => {
      this.#each(`${status} header `, was.headers, is.headers, () => {});
      this.#content(status, was.content, is.content, "answer");
    });
  }

  /** Compares a webhook, where the directions are reversed: the daemon sends the request and the receiver responds. */
  #webhook(at: string, kept: Json, current: Json): void {
    this.#parameters(at, kept.parameters, current.parameters, "answer");
    this.#content(at, kept.requestBody.content, current.requestBody.content, "answer");
  }

  #parameters(at: string, kept: Json[] = [], current: Json[] = [], direction: Direction): void {
    const [was, is] = [this.#byName(this.#kept, kept), this.#byName(this.#current, current)];
    this.#each(`${at} `, was, is, (name, before, after) => {
      this.#required(name, before.required, after.required, direction);
      this.#schema(name, before.schema, after.schema, direction);
    });
    for (const [name, parameter] of Object.entries(is)) {
      if (direction === "request" && was[name] === undefined && parameter.required) this.#say(`${at} asks for ${name}`);
    }
  }

  #body(at: string, kept: Json | undefined, current: Json | undefined): void {
    if (kept === undefined && current?.required) this.#say(`${at} asks for a body`);
    if (kept === undefined) return;
    if (current === undefined) return this.#say(`${at} takes no body any more`);
    this.#required(`${at}'s body`, kept.required, current.required, "request");
    this.#content(`${at}'s body`, kept.content, current.content, "request");
  }

  #content(at: string, kept: Json | undefined, current: Json | undefined, direction: Direction): void {
    this.#each(`${at} `, kept, current, (type, was, is) => this.#schema(type, was.schema, is.schema, direction));
  }

  #schema(at: string, given: Json, other: Json, direction: Direction): void {
    const [kept, current] = [resolved(this.#kept, given), resolved(this.#current, other)];
    const narrow = direction === "request" ? [kept, current] : [current, kept];
    this.#types(at, narrow[0]!, narrow[1]!);
    this.#same(`${at}'s value`, kept.const, current.const);
    for (const name of ["pattern", "format"]) {
      // A value that any request may have now also allows the old one.
      if (direction === "request" && current[name] === undefined) continue;
      this.#same(`${at}'s ${name}`, kept[name], current[name]);
    }
    if (direction === "request") this.#bounds(at, kept, current);
    this.#members(at, kept, current, direction);
    for (const name of ["items", "additionalProperties"]) {
      if (typeof kept[name] !== "object") continue;
      if (typeof current[name] === "object") this.#schema(`${at}[]`, kept[name], current[name], direction);
      else if (direction === "answer" || current[name] === false) this.#say(`${at} has no ${name} any more`);
    }
    for (const name of ["anyOf", "allOf"]) {
      const [was, is] = [kept[name] ?? [], current[name] ?? []];
      if (was.length !== is.length) this.#say(`${at} is made of ${is.length} shapes, not ${was.length}`);
      else was.forEach((each: Json, index: number) => this.#schema(at, each, is[index], direction));
    }
  }

  /** Reports each type in `narrow` that `wide` does not allow. */
  #types(at: string, narrow: Json, wide: Json): void {
    if (wide.type === undefined) return;
    const known = [wide.type].flat();
    const integer = (type: string) => type === "integer" && known.includes("number");
    for (const type of [narrow.type ?? "anything"].flat()) {
      if (!known.includes(type) && !integer(type)) this.#say(`${at} is ${named(narrow.type)}, not ${named(wide.type)}`);
    }
  }

  #members(at: string, kept: Json, current: Json, direction: Direction): void {
    this.#each(`${at}.`, kept.properties, current.properties, (name, was, is) =>
      this.#schema(name, was, is, direction),
    );
    const [was, is]: [string[], string[]] = [kept.required ?? [], current.required ?? []];
    const [from, lost, verb] = direction === "request" ? [is, was, "asks for"] : [was, is, "may leave out"];
    for (const name of from) {
      const removed = direction === "answer" && current.properties?.[name] === undefined;
      if (!lost.includes(name) && !removed) this.#say(`${at} ${verb} ${name}`);
    }
    if (direction !== "request") return;
    if (current.additionalProperties === false && kept.additionalProperties !== false) this.#say(`${at} is closed`);
    if (current.enum === undefined) return;
    if (kept.enum === undefined) this.#say(`${at} takes listed values alone`);
    for (const value of kept.enum ?? []) {
      if (!current.enum.includes(value)) this.#say(`${at} does not take ${JSON.stringify(value)} any more`);
    }
  }

  #bounds(at: string, kept: Json, current: Json): void {
    for (const name of ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]) {
      if (current[name] !== undefined && !(kept[name] >= current[name])) this.#say(`${at} has a higher ${name}`);
    }
    for (const name of ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]) {
      if (current[name] !== undefined && !(kept[name] <= current[name])) this.#say(`${at} has a lower ${name}`);
    }
    if (current.uniqueItems && !kept.uniqueItems) this.#say(`${at} has to be unique`);
  }

  #required(at: string, kept = false, current = false, direction: Direction): void {
    if (direction === "request" && current && !kept) this.#say(`${at} is required`);
    if (direction === "answer" && kept && !current) this.#say(`${at} may be left out`);
  }

  /** Compares the members that both have. A member that only the kept description has is a break. */
  #each(
    at: string,
    kept: Json = {},
    current: Json = {},
    compare: (at: string, kept: Json, current: Json) => void,
  ): void {
    for (const [name, was] of Object.entries(kept)) {
      if (current[name] === undefined) this.#say(`${at}${name} is gone`);
      else compare(`${at}${name}`, resolved(this.#kept, was), resolved(this.#current, current[name]));
    }
  }

  #same(at: string, kept: unknown, current: unknown): void {
    const [was, is] = [JSON.stringify(kept), JSON.stringify(current)];
    if (was !== is) this.#say(`${at} is ${is}, not ${was}`);
  }

  #byName(document: Json, parameters: Json[]): Json {
    const all = parameters.map((each) => resolved(document, each));
    return Object.fromEntries(all.map((each) => [`${each.in} ${each.name}`, each]));
  }

  #say(sentence: string): void {
    this.#found.push(sentence);
  }
}

const [NO_KEY, ANY_KEY] = ["no key", "any key"];

/** Returns the scope that an operation needs. */
function neededFor(operation: Json): string {
  if (operation.security?.length === 0) return NO_KEY;
  return operation["x-scope"] ?? ANY_KEY;
}

function resolved(document: Json, part: Json): Json {
  if (typeof part?.$ref !== "string") return part;
  const steps = part.$ref.split("/").slice(1);
  return steps.reduce((at, step) => at[step.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

function named(type: unknown): string {
  return [type ?? "anything"].flat().join(" or ");
}
