/** What a route answers: the replies its operation names, and the problems that follow from its rules. */
import { PROBLEMS, type ErrorCode } from "../../domain/errors.ts";
import { RETRY_AFTER } from "../pipeline/problem.ts";
import type { ReplyHeader, ReplyShape, Route } from "../pipeline/route.ts";
import type { JsonObject, Schemas } from "./json-schema.ts";
import { Problem, CODES, exampleOf, problemsOf } from "./problems.ts";

/** What the daemon sends beside the body. */
export const HEADERS = {
  "X-Request-Id": header("Names this request in the daemon's log.", "req_06fbqxvx8q1r2s3t4v5w6x7y8z"),
  "Retry-After": header("Seconds after which it is worth trying again.", 5, { type: "integer", minimum: 0 }),
  "WWW-Authenticate": header("The way to authenticate.", "Bearer"),
  Allow: header("The methods that this path takes.", "POST, GET, HEAD"),
  Location: header("Where the new resource can be read.", "/v1/webhooks/ep_06fbqxvx8r4m8q2v6ng0c3kz7t"),
  Link: header('The next page, if there is one, as `rel="next"`.', '</v1/webhooks?cursor=Zm9v>; rel="next"'),
  ETag: header("Different after every change, for `If-Match`. Health is not part of it.", '"mX3vP0qLz8Kd2YtA"'),
  "RateLimit-Policy": header(
    "With `[server] rate_limit`: how many requests (`q`) a key may make in `w` seconds (draft-ietf-httpapi-ratelimit-headers).",
    '"key";q=100;w=1',
  ),
  RateLimit: header(
    "With `[server] rate_limit`: how many of them are left now (`r`), all of them in `t` seconds.",
    '"key";r=42;t=1',
  ),
  "Idempotency-Replayed": header("`true` when this is the answer to an earlier request with the same key.", "true"),
};

type HeaderName = keyof typeof HEADERS;

const REPLY_HEADERS: Record<ReplyHeader, HeaderName> = { location: "Location", link: "Link", etag: "ETag" };

/** Of whoever is limited. */
const LIMIT: readonly HeaderName[] = ["RateLimit-Policy", "RateLimit"];

export class Responses {
  readonly #schemas: Schemas;
  readonly #shared = new Map<string, JsonObject>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
    for (const code of CODES) this.#problem([code]);
  }

  of(route: Route): JsonObject {
    const responses: JsonObject = {};
    for (const [status, codes] of Map.groupBy(problemsOf(route), (code) => PROBLEMS[code].status)) {
      responses[status] = this.#problem(codes);
    }
    for (const [status, shape] of Object.entries(route.operation.replies ?? {}))
      responses[status] = this.#reply(shape, route);
    return responses;
  }

  /** By the codes that they stand for. */
  shared(): JsonObject {
    return Object.fromEntries([...this.#shared].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #reply(
    { description, schema, example, type = "application/json", headers = [] }: ReplyShape,
    { method, access }: Route,
  ): JsonObject {
    const names: HeaderName[] = ["X-Request-Id", ...headers.map((name) => REPLY_HEADERS[name])];
    if (access !== "open") names.push(...LIMIT);
    if (method === "POST") names.push("Idempotency-Replayed");
    return {
      description,
      headers: refs(names),
      ...(schema !== undefined && { content: { [type]: { schema: this.#schemas.of(schema), example } } }),
    };
  }

  #problem(codes: readonly ErrorCode[]): JsonObject {
    const name = codes.join(".");
    if (!this.#shared.has(name)) this.#shared.set(name, this.#problemResponse(codes));
    return { $ref: `#/components/responses/${name}` };
  }

  #problemResponse(codes: readonly ErrorCode[]): JsonObject {
    const headers: HeaderName[] = ["X-Request-Id"];
    if (codes.some((code) => RETRY_AFTER[code] !== undefined)) headers.push("Retry-After");
    if (codes.includes("rate_limited")) headers.push(...LIMIT);
    if (codes.includes("unauthorized")) headers.push("WWW-Authenticate");
    if (codes.includes("method_not_allowed")) headers.push("Allow");
    const ofTheseCodes = { type: "object", properties: { code: { enum: codes } } };
    return {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join("; "),
      headers: refs(headers),
      content: {
        "application/problem+json": {
          schema: { allOf: [this.#schemas.of(Problem), ofTheseCodes] },
          examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
    };
  }
}

/** A body of each problem. */
export function problemExamples(): JsonObject {
  return Object.fromEntries(CODES.map((code) => [code, { value: exampleOf(code) }]));
}

function refs(names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function header(description: string, example: unknown, schema: JsonObject = { type: "string" }): JsonObject {
  return { description, schema, example };
}
