/** Finds the webhooks of an OpenAPI document. */
import { describedType, type Described, type DescribedType, type Reading } from "./body.ts";
import { isPart, NotImportable, type Part, type Root } from "./references.ts";

/** Documents of OpenAPI 3.0 have their webhooks under `x-webhooks`. Null if there are none. */
export function webhooksIn(document: Part): Part | null {
  return [document.webhooks, document["x-webhooks"]].find(isPart) ?? null;
}

export function openApiTypes(webhooks: Part, reading: Reading): DescribedType[] {
  return Object.entries(webhooks).map(([key, item]) =>
    describedType([key], reading, () => describedWebhook(item, reading.root)),
  );
}

function describedWebhook(item: unknown, root: Root): Described {
  const { part: path } = root.object(item, "a path item");
  if (path.post === undefined) throw new NotImportable("has no post operation, and events are posted");
  const { part: operation } = root.object(path.post, "an operation");
  const { schema, examples } = bodyOf(operation, root);
  return {
    descriptions: [operation.summary, path.summary, operation.description, path.description],
    tags: operation.tags,
    deprecated: operation.deprecated,
    schema,
    examples,
  };
}

function bodyOf({ requestBody }: Part, root: Root): Pick<Described, "schema" | "examples"> {
  if (requestBody === undefined) return { schema: undefined, examples: [] };
  const { content } = root.object(requestBody, "a request body").part;
  if (!isPart(content)) return { schema: undefined, examples: [] };
  const types = Object.keys(content);
  const json = types.find(isJson);
  if (json === undefined)
    throw new NotImportable(`has a body that is not JSON, but ${types.join(" or ") || "nothing"}`);
  const { part: media } = root.object(content[json], "a media type");
  const { schema, example, examples } = media;
  return { schema, examples: [example, ...namedExamples(examples, root)] };
}

/** `application/json`, with or without parameters, `application/vnd.example+json`, and ranges that contain them. */
export function isJson(type: string): boolean {
  return /^(?:application\/(?:json|\*|[\w.-]+\+json)|\*\/\*)\s*(?:;|$)/i.test(type);
}

/** An example that is in another document is left out. */
function namedExamples(examples: unknown, root: Root): unknown[] {
  if (!isPart(examples)) return [];
  return Object.values(examples).map((one) => root.object(one, "an example").part.value);
}
