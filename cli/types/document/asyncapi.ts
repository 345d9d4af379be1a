/** Finds the messages that an AsyncAPI document, of version 2 or 3, says are sent. */
import { describedType, type Described, type DescribedType, type Reading } from "./body.ts";
import { isJson } from "./openapi.ts";
import { isPart, NotImportable, type Part, type Root } from "./references.ts";

/** A message, and names for it that the document gives around it, the best first. */
interface Message {
  readonly given: unknown;
  readonly keys: readonly string[];
}

const SCHEMA_FORMATS =
  /^application\/(?:vnd\.(?:aai\.asyncapi|oai\.openapi)(?:\+json|\+yaml)?|schema\+(?:json|yaml))\s*(?:;|$)/i;

export function asyncApiTypes(document: Part, reading: Reading): DescribedType[] {
  const { root } = reading;
  const messages = String(document.asyncapi).startsWith("2.")
    ? messagesOf2(document, root)
    : messagesOf3(document, root);
  const types = messages.map(({ given, keys }) => {
    const { name, messageId } = partOrNull(given, root) ?? {};
    return describedType([name, messageId, keyOf(given), ...keys], reading, () =>
      describedMessage(withTraits(root.object(given, "a message").part, root), document),
    );
  });
  // A message may be in several channels.
  const seen = new Set<string>();
  return types.filter((type) => {
    const text = JSON.stringify(type);
    return !seen.has(text) && seen.add(text);
  });
}

/**
 * In version 2, `subscribe` has what clients of the application receive. A document that has none of these was written
 * from the side of a client, and there it is `publish`.
 */
function messagesOf2({ channels }: Part, root: Root): Message[] {
  const all = Object.entries(isPart(channels) ? channels : {});
  const of = (verb: "subscribe" | "publish") =>
    all.flatMap(([name, channel]) => {
      const operation = partOrNull(channel, root)?.[verb];
      const { message, operationId } = partOrNull(operation, root) ?? {};
      if (message === undefined) return [];
      const choices = isPart(message) && Array.isArray(message.oneOf) ? (message.oneOf as unknown[]) : [message];
      const keys = [operationId, name].filter((key) => typeof key === "string");
      return choices.map((given) => ({ given, keys: choices.length === 1 ? keys : [name] }));
    });
  const subscribed = of("subscribe");
  return subscribed.length > 0 ? subscribed : of("publish");
}

/** In version 3, operations say what is sent. Without one that sends, every message of a channel counts. */
function messagesOf3({ channels, operations }: Part, root: Root): Message[] {
  const sends = Object.values(isPart(operations) ? operations : {})
    .map((operation) => partOrNull(operation, root))
    .filter((operation) => operation?.action === "send");
  if (sends.length === 0)
    return Object.values(isPart(channels) ? channels : {}).flatMap((channel) => messagesIn(channel, root));
  return sends.flatMap((operation) => {
    const { messages, channel } = operation!;
    if (!Array.isArray(messages)) return messagesIn(channel, root);
    return messages.map((given: unknown) => ({ given, keys: [] }));
  });
}

function messagesIn(channel: unknown, root: Root): Message[] {
  const messages = partOrNull(channel, root)?.messages;
  return Object.entries(isPart(messages) ? messages : {}).map(([key, given]) => ({ given, keys: [key] }));
}

/** The last word of a reference; null for anything else. */
function keyOf(given: unknown): string | null {
  return isPart(given) && typeof given.$ref === "string" ? given.$ref.slice(given.$ref.lastIndexOf("/") + 1) : null;
}

/** The message itself says why it cannot be imported, so what leads to it is left out where it leads nowhere. */
function partOrNull(given: unknown, root: Root): Part | null {
  try {
    return root.object(given, "a part").part;
  } catch (error) {
    if (error instanceof NotImportable) return null;
    throw error;
  }
}

/** The message itself counts before its traits. */
function withTraits(message: Part, root: Root): Part {
  const { traits } = message;
  if (!Array.isArray(traits)) return message;
  return Object.assign({}, ...traits.map((trait: unknown) => root.object(trait, "a trait").part), message) as Part;
}

function describedMessage(message: Part, document: Part): Described {
  const type = message.contentType ?? document.defaultContentType;
  if (typeof type === "string" && !isJson(type)) throw new NotImportable(`has a body that is not JSON, but ${type}`);
  const { payload } = message;
  // In version 3 the format may stand beside the schema.
  const isFramed = isPart(payload) && typeof payload.schemaFormat === "string";
  const format = isFramed ? payload.schemaFormat : message.schemaFormat;
  if (typeof format === "string" && !SCHEMA_FORMATS.test(format))
    throw new NotImportable(`has a payload described by ${format}, and not by JSON Schema`);
  return {
    descriptions: [message.summary, message.title, message.description],
    tags: message.tags,
    deprecated: message.deprecated ?? message["x-deprecated"],
    schema: isFramed ? payload.schema : payload,
    examples: Array.isArray(message.examples)
      ? message.examples.map((example: unknown) => (isPart(example) ? example.payload : undefined))
      : [],
  };
}
