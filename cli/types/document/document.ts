/** Finds the event types that an OpenAPI or AsyncAPI document describes. */
import { usage } from "../../failure.ts";

import { asyncApiTypes } from "./asyncapi.ts";
import type { DescribedType } from "./body.ts";
import { openApiTypes, webhooksIn } from "./openapi.ts";
import { readDocument } from "./read.ts";
import { isPart, Root } from "./references.ts";

const READ = "It reads `webhooks` of OpenAPI 3.1, `x-webhooks` of 3.0, and messages of AsyncAPI 2 and 3.";

/**
 * `name` is the file in messages, and `dataIn` the field of each body that has the event's data, if the body is no event
 * as it is sent. Throws a Failure for any other document, and for one without types.
 */
export function typesIn(text: string, name: string, dataIn: string | undefined): DescribedType[] {
  const document = readDocument(text, name);
  if (!isPart(document)) throw usage(`${name} is not an OpenAPI or AsyncAPI document`, READ);
  const reading = { root: new Root(document), dataIn };
  if (typeof document.openapi === "string" && document.openapi.startsWith("3.")) {
    const webhooks = webhooksIn(document);
    if (webhooks === null || Object.keys(webhooks).length === 0) throw usage(`${name} describes no webhooks`, READ);
    return openApiTypes(webhooks, reading);
  }
  if (typeof document.asyncapi === "string" && /^[23]\./.test(document.asyncapi)) {
    const types = asyncApiTypes(document, reading);
    if (types.length === 0) throw usage(`${name} describes no messages`, READ);
    return types;
  }
  const version = document.swagger ?? document.openapi ?? document.asyncapi;
  const its = typeof version === "string" || typeof version === "number" ? `, but of version ${version}` : "";
  throw usage(`${name} is not a document of OpenAPI 3, or AsyncAPI 2 or 3${its}`, READ);
}
