import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { problemsOf } from "../../../src/api/openapi/responses.ts";
import type { Route } from "../../../src/api/pipeline/route.ts";
import type { Answer } from "../server.ts";

type Json = Record<string, any>;

/** An API description, and the differences between it and real responses. */
export class Description {
  readonly document: Json;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

  constructor(document: Json) {
    this.document = document;
    this.#ajv.addSchema(closed(merged(document, document)) as Json, "openapi");
  }

  operations(): { method: string; path: string; operation: Json }[] {
    return Object.entries(this.document.paths as Json).flatMap(([path, methods]) =>
      Object.entries(methods as Json).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  /** Returns the target of a reference, or `part` itself if it is none. */
  resolved(part: Json): Json {
    if (typeof part.$ref !== "string") return part;
    return steps(part.$ref).reduce((at, step) => at[step], this.document);
  }

  /** The statuses that a route may respond with, or, for problems, their codes. */
  answers(route: Route): string[] {
    return [...Object.keys(route.operation.replies), ...problemsOf(route)];
  }

  /**
   * Returns the faults of a value under the schema at `pointer` in the document. Fields that are not described are
   * faults.
   */
  faults(pointer: string, value: unknown): string[] {
    const validate = this.#ajv.compile({ $ref: `openapi#${pointer}` });
    return validate(value) ? [] : validate.errors!.map(sentence);
  }

  /** Returns the faults of an operation's response. */
  faultsOf(method: string, path: string, { status, headers, body, text }: Answer): string[] {
    const responses = this.document.paths[path][method.toLowerCase()].responses as Json;
    const name = status in responses ? String(status) : `${String(status)[0]}XX`;
    const at = `/paths/${token(path)}/${method.toLowerCase()}/responses/${name}`;
    const given = responses[name];
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

/** Escapes a name as one step of a JSON pointer in a URI fragment. */
export function token(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function steps(ref: string): string[] {
  const parts = ref.slice("#/".length).split("/");
  return parts.map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Makes one object of the parts of each `allOf`, so that it can be closed as a whole. */
function merged(value: unknown, document: Json): unknown {
  if (Array.isArray(value)) return value.map((each) => merged(each, document));
  if (typeof value !== "object" || value === null) return value;
  const copy: Json = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, merged(each, document)]));
  if (!Array.isArray(copy.allOf)) return copy;
  const { allOf, ...rest } = copy;
  const parts = (allOf as Json[]).map((part) => {
    if (typeof part.$ref !== "string") return part;
    return merged(
      steps(part.$ref).reduce((at, step) => at[step], document),
      document,
    ) as Json;
  });
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required as string[]),
  };
}

/**
 * The document allows more fields, because responses may gain some. In these tests a field that is not described is a
 * fault.
 */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => closed(each));
  if (typeof value !== "object" || value === null) return value;
  const copy: Json = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each)]));
  const isObject = copy.type === "object" && typeof copy.properties === "object";
  return isObject && copy.additionalProperties === undefined ? { ...copy, additionalProperties: false } : copy;
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath} ${message} ${JSON.stringify(params)}`;
}
