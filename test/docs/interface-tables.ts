/** The parts of `docs/interface.md` that are generated from tables in the code. */
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { registrationSchema } from "../../src/api/endpoints/requests.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { Schemas, type JsonObject } from "../../src/api/openapi/json-schema.ts";
import { BY_ERROR } from "../../src/domain/advice/by-error.ts";
import { ATTEMPT_ERRORS, causeText, type AttemptError } from "../../src/domain/deliveries/attempt.ts";
import { catalogueOf } from "../../src/domain/events/catalogue.ts";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { LISTS } from "../../src/domain/lists.ts";
import { aUrlPolicy } from "../domain/corpus.ts";

const WIDTH = 118;

/** Writers of the parts, by the name in the marks around each. */
export const WRITTEN: Readonly<Record<string, () => string[]>> = { types, lists, fields, endpoint, errors };

/** Returns the page with each part as it should be. */
export function written(page: string): string {
  return Object.entries(WRITTEN).reduce((text, [name, lines]) => {
    const marked = new RegExp(`(<!-- ${name}: .* -->\n).*?(<!-- end of ${name} -->)`, "s");
    if (!marked.test(text)) throw new Error(`docs/interface.md has no marks for ${name}`);
    return text.replace(marked, (_, begin: string, end: string) => `${begin}\n${lines().join("\n")}\n\n${end}`);
  }, page);
}

function types(): string[] {
  const rows = BUILT_IN_TYPES.map(({ name, description, source }) => [`\`${name}\``, source, description]);
  return table(["type", "data", ""], rows);
}

function lists(): string[] {
  const rows = Object.entries(LISTS).map(([list, { filters, sorts }]) =>
    [[list], Object.keys(filters), sorts].map((names) => names.map((name) => `\`${name}\``).join(", ")),
  );
  return table(["list", "filters", "sorted also by"], rows);
}

function fields(): string[] {
  const schemas = new Schemas();
  schemas.of(
    registrationSchema({
      types: catalogueOf(),
      signatureHeaders: [],
      urlPolicy: aUrlPolicy(),
      seesTags: true,
      namesSettings: true,
    }),
  );
  const components = schemas.components() as Readonly<Record<string, JsonObject>>;
  const { properties, required } = components["Registration"] as {
    readonly properties: Readonly<Record<string, JsonObject>>;
    readonly required: readonly string[];
  };
  const rows = Object.entries(properties).map(([name, given]) => {
    const component = typeof given["$ref"] === "string" ? components[given["$ref"].split("/").at(-1)!] : {};
    const schema: JsonObject = { ...component, ...given };
    const missing = required.includes(name)
      ? "required"
      : schema["default"] === undefined
        ? "–"
        : `\`${JSON.stringify(schema["default"])}\``;
    return [`\`${name}\``, missing, limitsOf(schema), String(schema["description"])];
  });
  return table(["field", "default", "limits", ""], rows);
}

/** Describes the limits of a JSON Schema in words. */
function limitsOf(schema: JsonObject): string {
  const within = (least: unknown, most: unknown, what = "") => {
    const to = Number(most).toLocaleString("en");
    return most === undefined ? [] : [(least === undefined ? `at most ${to}` : `${String(least)} to ${to}`) + what];
  };
  const { enum: values, minLength, maxLength, minItems, maxItems, maxProperties, minimum, maximum } = schema;
  return [
    ...(Array.isArray(values) ? [values.map((value) => `\`${value}\``).join(" or ")] : []),
    ...within(minLength, maxLength, " characters"),
    ...within(minItems, maxItems),
    ...(schema["uniqueItems"] === true ? ["each once"] : []),
    ...within(undefined, maxProperties),
    ...(schema["exclusiveMinimum"] === 0 ? ["more than 0"] : []),
    ...within(minimum, maximum),
  ].join(", ");
}

function endpoint(): string[] {
  const members = Object.entries({ ...anEndpoint, health: aHealth }).map(([name, value]) => {
    const text = JSON.stringify(value, null, 1).replaceAll(/(?<=\[)\n\s*|\n\s*(?=\])/g, "");
    return `"${name}": ${text.replaceAll(/\n\s*/g, " ")}`;
  });
  const lines: string[] = [];
  for (const [index, member] of members.entries()) {
    const text = index === members.length - 1 ? member : `${member},`;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + text.length <= WIDTH) lines[lines.length - 1] = `${last} ${text}`;
    else lines.push(`  ${text}`);
  }
  return ["```json", "{", ...lines, "}", "```"];
}

/** Errors whose advice depends on more than the error. */
const OTHERS: Readonly<Record<Exclude<AttemptError, keyof typeof BY_ERROR>, string>> = {
  http_status: "The answer is neither 2xx nor 3xx.",
  timeout: "No final header block came within 10 s.",
  tls_error: "The handshake failed, or a certificate is not valid.",
  token_error: "The token server of the endpoint gave no token, so no request was sent.",
};

function errors(): string[] {
  const meanings: Readonly<Partial<Record<AttemptError, { readonly meaning: string }>>> = BY_ERROR;
  const rows = ATTEMPT_ERRORS.map((error) => {
    const cause = error === "http_status" ? `such as ${causeText(error, 503)}` : causeText(error, null);
    const meaning = meanings[error]?.meaning ?? OTHERS[error as keyof typeof OTHERS];
    return [`\`${error}\``, cause, meaning.replaceAll(/\[\w+\]/g, "`$&`")];
  });
  return table(["error", "cause", ""], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => "---"), ...rows].map((cells, at) => {
    return at === 1 ? `|${cells.join("|")}|` : `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |");
  });
}
