import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import type { Answer } from "../server.ts";

type Json = Record<string, any>;

/** A description of the interface, and what in an answer departs from it. */
export class Description {
  readonly document: Json;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

  constructor(document: Json) {
    this.document = document;
    this.#ajv.addSchema(closed(document) as Json, "openapi");
  }

  operations(): { method: string; path: string; operation: Json }[] {
    return Object.entries(this.document.paths as Json).flatMap(([path, methods]) =>
      Object.entries(methods as Json).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  /** Follows a reference, if it is one. */
  resolved(part: Json): Json {
    if (typeof part.$ref !== "string") return part;
    return steps(part.$ref).reduce((at, step) => at[step], this.document);
  }

  /** The statuses and, for problems, the codes that an operation may answer with. */
  answers(operation: Json): string[] {
    return Object.entries(operation.responses as Json).flatMap(([status, given]) => {
      const problem = this.resolved(given).content?.["application/problem+json"];
      return problem === undefined ? [status] : Object.keys(problem.examples);
    });
  }

  /** What is wrong with a value that `pointer` (into the document) describes; fields nobody described are wrong. */
  faults(pointer: string, value: unknown): string[] {
    const validate = this.#ajv.compile({ $ref: `openapi#${pointer}` });
    return validate(value) ? [] : validate.errors!.map(sentence);
  }

  /** What is wrong with an answer to an operation. */
  faultsOf(method: string, path: string, { status, headers, body, text }: Answer): string[] {
    const at = `/paths/${token(path)}/${method.toLowerCase()}/responses/${status}`;
    const given = steps(`#${at}`).reduce<Json | undefined>((part, step) => part?.[step], this.document);
    if (given === undefined) return [`${status} is not described`];
    const response = this.resolved(given);
    const content = Object.keys(response.content ?? {});
    if (content.length === 0) return text === "" ? [] : ["the body is not described"];
    const type = content.find((each) => each === headers["content-type"]);
    if (type === undefined) return [`${headers["content-type"]} is not described`];
    const pointer = typeof given.$ref === "string" ? given.$ref.slice(1) : at;
    return this.faults(`${pointer}/content/${token(type)}/schema`, body ?? text);
  }
}

/** A name as one step of a JSON pointer in a URI fragment. */
export function token(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function steps(ref: string): string[] {
  const parts = ref.slice("#/".length).split("/");
  return parts.map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Objects are open in the document, because answers may grow; here a field that nobody described is a fault. */
function closed(value: unknown, inAllOf = false): unknown {
  if (Array.isArray(value)) return value.map((each) => closed(each));
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, each]) =>
      name === "allOf" ? [name, (each as unknown[]).map((part) => closed(part, true))] : [name, closed(each)],
    ),
  );
  const isObject = copy.type === "object" && typeof copy.properties === "object";
  return isObject && !inAllOf && copy.additionalProperties === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath} ${message} ${JSON.stringify(params)}`;
}
