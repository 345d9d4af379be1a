/** Builds the OpenAPI 3.1 description from the routes that answer and the schemas that validate. */
import type { EventType } from "../../domain/events/event-type.ts";
import { idPattern } from "../../domain/id.ts";
import { IDEMPOTENCY_KEY } from "../../domain/events/idempotency.ts";
import { SCOPES } from "../../domain/caller.ts";
import type { Parameter } from "../pipeline/query.ts";
import { TAGS, type Route } from "../pipeline/route.ts";
import { Schemas, type JsonObject } from "./json-schema.ts";
import { HEADERS, Responses } from "./responses.ts";
import { ENVELOPE, receivedAnswers, receivedHeaders, webhooks, type Retries, type Signature } from "./webhooks.ts";

export interface Described {
  readonly routes: readonly Route[];
  readonly types: Iterable<EventType>;
  readonly version: string;
  readonly signature: Signature;
  readonly retry: Retries;
}

const ABOUT = `A webhook delivery daemon: events come in once, signed requests go out until each endpoint has accepted them.

Send a key as \`Authorization: Bearer whk_…\`. Its scopes say what it may do, and its tenant says whose data it can see: anything that belongs to another tenant is answered with 404. \`manage\` includes \`read\`, and \`admin\` includes everything.

Every error is a problem document (RFC 9457). Programs check \`code\` and \`retryable\`, people read \`detail\`, and \`errors\` names the fields. An unknown path gets \`not_found\`, a method that the path does not support \`method_not_allowed\`, a request that is too slow \`request_timeout\`, and one with more than 16 KiB of headers \`headers_too_large\`.

Unknown fields and parameters are refused, never ignored. Answers may gain fields and values: ignore what you do not know.

Lists return \`{data, next_cursor}\`. They stay stable while new rows arrive; a page may have fewer rows than \`limit\`, or even none, and the list ends when \`next_cursor\` is null.

Every answer has \`X-Request-Id\`, which identifies the request in the daemon's log. With \`[server] rate_limit\`, it has \`RateLimit-Policy\` and \`RateLimit\`. The answer to a repeat under the same \`Idempotency-Key\` has \`Idempotency-Replayed: true\`.

Ids sort by the time they were created. Instants are ISO 8601 UTC with milliseconds.`;

const TEXT = { type: "string" };

const IDEMPOTENCY_KEY_HEADER = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "For requests that you may have to repeat: the same key and request within 24 h (`[server] idempotency`) get the " +
    "first 2xx answer again, and nothing is done twice. A different request under the same key is " +
    "answered with `idempotency_mismatch`. Keys belong to a tenant.",
  schema: { type: "string", pattern: IDEMPOTENCY_KEY.source },
};

export function openapi({ routes, types, version, signature, retry }: Described): JsonObject {
  const schemas = new Schemas();
  const responses = new Responses(schemas);
  const received = receivedHeaders(signature);
  const shared = sharedParameters(routes);
  const byPath = Map.groupBy(
    routes.filter(({ operation }) => operation.isPage !== true),
    ({ path }) => path,
  );
  const paths = [...byPath].map(([path, at]) => {
    const operations = at.map((route) => [
      route.method.toLowerCase(),
      operationOf(route, { schemas, responses, shared }),
    ]);
    return [path.replaceAll(/:(\w+)/g, "{$1}"), Object.fromEntries(operations)];
  });
  return {
    openapi: "3.1.0",
    info: {
      title: "webhookd",
      version,
      description: ABOUT,
      contact: { name: "webhookd" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The daemon that serves this description." }],
    tags: [
      ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      { name: "Receivers", description: "What webhookd sends, and what it expects back." },
    ],
    security: [{ key: [] }],
    paths: Object.fromEntries(paths),
    webhooks: webhooks(types, received),
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: `A key, \`whk_…\`, with scopes: ${SCOPES.join(", ")}.` },
      },
      parameters: {
        ...Object.fromEntries([...shared].map(([name, each]) => [name, parameterOf(each, schemas)])),
        ...Object.fromEntries(Object.entries(IN_PATH).map(([prefix, each]) => [`id.${prefix}`, each])),
        "Idempotency-Key": IDEMPOTENCY_KEY_HEADER,
        ...received,
      },
      headers: HEADERS,
      responses: { ...responses.shared(), ...receivedAnswers(retry) },
      schemas: { ...schemas.components(), Envelope: ENVELOPE },
    },
  };
}

/** The parameters in paths, by the prefix of their ids. */
const IN_PATH = Object.fromEntries(
  (["ep", "evt", "dlv", "att", "job", "key"] as const).map((prefix) => {
    const pattern = idPattern(prefix).source;
    return [prefix, { name: "id", in: "path", required: true, schema: { type: "string", pattern } }];
  }),
) as Record<string, JsonObject>;
IN_PATH.ep = {
  ...IN_PATH.ep,
  description:
    "Its id, or `uid:` followed by its `uid`, percent-encoded. With a key for every tenant, also name the tenant of the `uid`.",
  schema: { type: "string", pattern: `${idPattern("ep").source}|^uid:.` },
};

interface Parts {
  readonly schemas: Schemas;
  readonly responses: Responses;
  readonly shared: ReadonlyMap<string, Parameter>;
}

function operationOf(route: Route, { schemas, responses, shared }: Parts): JsonObject {
  const { access, body } = route;
  const { id, tag, summary, description, params = {}, headers = {} } = route.operation;
  // They come first, because parameters refer to the shapes in them.
  const answers = responses.of(route);
  const inPath = Object.entries(params).map(([name, prefix]) =>
    prefix in IN_PATH
      ? { $ref: `#/components/parameters/id.${prefix}` }
      : { name, in: "path", required: true, schema: TEXT },
  );
  const inQuery = parametersOf(route).map((each) =>
    shared.get(each.name) === each ? { $ref: `#/components/parameters/${each.name}` } : parameterOf(each, schemas),
  );
  const inHeader = Object.entries(headers).map(([name, text]) => ({
    name,
    in: "header",
    description: text,
    schema: TEXT,
  }));
  const idempotency = route.method === "POST" ? [{ $ref: "#/components/parameters/Idempotency-Key" }] : [];
  const parameters = [...inPath, ...inQuery, ...inHeader, ...idempotency];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(access === "open" && { security: [] }),
    ...(access !== "open" && access !== "any" && { "x-scope": access }),
    ...(parameters.length > 0 && { parameters }),
    ...(body?.schema !== undefined && {
      requestBody: {
        required: body.optional !== true,
        content: contentOf(route, schemas.of(body.schema)),
      },
    }),
    responses: answers,
  };
}

/** Only JSON is described, because generators make nothing of other types. The operation's text names them. */
function contentOf({ operation }: Route, schema: JsonObject): JsonObject {
  return { "application/json": { schema, example: operation.example } };
}

/** Parameters that several routes take are components. Parameters of the same name share one. */
function sharedParameters(routes: readonly Route[]): Map<string, Parameter> {
  const uses = Map.groupBy(routes.flatMap(parametersOf), (each) => each);
  return new Map([...uses].filter(([, { length }]) => length > 1).map(([each]) => [each.name, each]));
}

function parametersOf({ query = [] }: Route): readonly Parameter[] {
  return query === "any" ? [] : query;
}

function parameterOf({ name, description, schema }: Parameter, schemas: Schemas): JsonObject {
  return { name, in: "query", description, schema: schemas.known(schema) };
}
