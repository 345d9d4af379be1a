/** Reads a document that is written in JSON or YAML. */
import { CORE_SCHEMA, load, mergeTag, YAMLException } from "js-yaml";
import { WebhookdError } from "../../../src/domain/errors.ts";
import { scanJson } from "../../../src/domain/json/json.ts";
import { sizeText } from "../../../src/domain/wording.ts";
import { placeOf } from "../../events/data.ts";
import { usage } from "../../failure.ts";

/** Reading YAML takes ten times as long as reading JSON. */
export const MAX_YAML_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 500;
const LIMITS = { maxDepth: MAX_DEPTH, maxValues: 5_000_000 };
/**
 * Aliases cost nothing by themselves, because all of them share a value. `standaloneSchema` counts the values where it
 * copies them.
 */
const MAX_ALIASES = 10_000;

/** `name` is the file in messages. Throws a Failure that names the place of a mistake. */
export function readDocument(text: string, name: string): unknown {
  const isYaml = /\.ya?ml$/i.test(name) || !/^\s*\{/.test(text);
  return isYaml ? readYaml(text, name) : readJson(text, name);
}

function readJson(text: string, name: string): unknown {
  const bytes = Buffer.from(text);
  try {
    scanJson(bytes, LIMITS);
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
    throw usage(`${name}${error.at === undefined ? "" : placeOf(bytes, error.at)}: ${error.detail}`);
  }
  return JSON.parse(text) as unknown;
}

/** YAML 1.2, with `<<` of 1.1. A tag of its own, such as !include, is refused. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

function readYaml(text: string, name: string): unknown {
  const size = Buffer.byteLength(text);
  if (size > MAX_YAML_BYTES) {
    const hint = "Convert it to JSON, which may be longer.";
    throw usage(`${name} has ${sizeText(size)} of YAML, and the limit is ${sizeText(MAX_YAML_BYTES)}`, hint);
  }
  try {
    return load(text, { schema: SCHEMA, maxDepth: MAX_DEPTH, maxAliases: MAX_ALIASES });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { mark, reason } = error;
    throw usage(`${name}${mark === undefined ? "" : `:${mark.line + 1}:${mark.column + 1}`}: ${reason}`);
  }
}
