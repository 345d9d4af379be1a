/** Renders the description as one HTML page that loads nothing: no scripts, no images. */
import { createHash } from "node:crypto";
import type { JsonObject } from "./json-schema.ts";
import { CODES, exampleOf } from "./responses.ts";

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; font-size: .85rem; }
nav ul { list-style: none; margin: 0 0 .5rem; padding-left: .75rem; }
nav a { text-decoration: none; }
main { max-width: 60rem; padding: 1rem 2rem 6rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid #8886; }
article { margin: 2rem 0; padding-left: 1rem; border-left: 3px solid #8886; }
article p { margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8883; }
td p { margin: 0; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: break-word; }
pre { padding: .75rem; overflow: auto; background: #8881; }
small { opacity: .75; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; } }
`;

const STYLE_HASH = hashOf(STYLE);

/** Nothing may be loaded or run, and only our own style sheet applies, by its hash. */
export const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The key is sent in a header of the page's own request, so it never appears in an address. */
const KEY_SCRIPT = `
const form = document.forms[0];
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const headers = { authorization: "Bearer " + form.elements.key.value.trim() };
  const answer = await fetch("docs/description", { headers }).catch(() => null);
  if (!answer?.ok) return void (document.querySelector("output").value = "This key does not open it.");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.replaceChild(document.adoptNode(page.documentElement), document.documentElement);
});
`;

/** Shown instead of the description if reading it needs a key. */
export const KEY_PAGE =
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>webhookd</title>` +
  `<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head><body><main><h1>webhookd</h1>` +
  `<form><p><label>API key <input name="key" type="password" required autocomplete="off" autofocus></label> ` +
  `<button>Read the description</button></p><p><output></output></p></form></main><script>${KEY_SCRIPT}</script></body></html>\n`;

export const KEY_PAGE_POLICY = `${PAGE_POLICY}; script-src 'sha256-${hashOf(KEY_SCRIPT)}'; connect-src 'self'`;

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

type Operation = JsonObject & { operationId: string; summary: string; tags: string[] };
type Located = { method: string; path: string; operation: Operation };

/** `document` must come from `openapi()`. */
export function page(document: JsonObject): string {
  const view = new View(document);
  const { info, tags } = document as { info: JsonObject; tags: { name: string; description: string }[] };
  const chapters = tags.map((tag) => view.chapter(tag)).join("");
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>webhookd ${escape(info.version)}</title>` +
    `<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head><body>` +
    `<nav>${view.contents(tags)}</nav><main><h1>webhookd <small>${escape(info.version)}</small></h1>` +
    `${prose(info.description)}${chapters}${view.problems()}${view.shapes()}</main></body></html>\n`
  );
}

class View {
  readonly #document: JsonObject;
  readonly #operations: Located[];

  constructor(document: JsonObject) {
    this.#document = document;
    const { paths, webhooks } = document as Record<string, Record<string, Record<string, Operation>>>;
    this.#operations = Object.entries({ ...paths, ...webhooks }).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  contents(tags: readonly { name: string }[]): string {
    const of = (name: string) =>
      this.#in(name).map((located) => `<li>${link(located.operation.operationId, titleOf(located))}</li>`);
    const chapters = tags.map(({ name }) => `<li>${link(name, name)}<ul>${of(name).join("")}</ul></li>`);
    return `<ul>${chapters.join("")}<li>${link("errors", "Errors")}</li><li>${link("shapes", "Shapes")}</li></ul>`;
  }

  chapter({ name, description }: { name: string; description: string }): string {
    const operations = this.#in(name).map((located) => this.#operation(located));
    return `<section id="${escape(name)}"><h2>${escape(name)}</h2>${prose(description)}${operations.join("")}</section>`;
  }

  problems(): string {
    const rows = CODES.map((name) => [name, exampleOf(name)] as const).map(([name, value]) => [
      `<code id="error.${escape(name)}">${escape(name)}</code>`,
      escape(value.status),
      escape(value.title),
      escape(value.detail),
    ]);
    return `<section id="errors"><h2>Errors</h2>${table(["code", "status", "", "for example"], rows)}</section>`;
  }

  shapes(): string {
    const { schemas } = this.#document.components as { schemas: Record<string, JsonObject> };
    const all = Object.entries(schemas).map(
      ([name, schema]) =>
        `<h3 id="shape.${escape(name)}">${escape(name)}</h3>${prose(schema.description)}${shape(schema)}`,
    );
    return `<section id="shapes"><h2>Shapes</h2>${all.join("")}</section>`;
  }

  #in(tag: string): Located[] {
    return this.#operations.filter(({ operation }) => operation.tags.includes(tag));
  }

  #operation(located: Located): string {
    const { method, path, operation } = located;
    const { operationId, summary, description, security } = operation;
    const route = `${code(`${method} ${path}`)} <small>${accessOf(security as [] | undefined, operation["x-scope"])}</small>`;
    return (
      `<article id="${escape(operationId)}"><h3>${escape(titleOf(located))}</h3>` +
      `<p>${path.startsWith("/") ? route : escape(summary)}</p>${prose(description)}` +
      `${this.#parameters(operation)}${this.#body(operation)}${this.#responses(operation)}</article>`
    );
  }

  #parameters({ parameters = [] }: JsonObject): string {
    const rows = (parameters as JsonObject[]).map((given) => {
      const { name, in: place, schema, description } = this.#resolved(given);
      return [code(name), escape(place), typeOf(schema as JsonObject), prose(description)];
    });
    return rows.length === 0 ? "" : `<h4>Parameters</h4>${table(["name", "in", "", ""], rows)}`;
  }

  #body({ requestBody }: JsonObject): string {
    if (requestBody === undefined) return "";
    const { required, content } = requestBody as { required: boolean; content: JsonObject };
    return `<h4>Body${required ? "" : " (may be left out)"}</h4>${this.#content(content, (schema) => this.#resolved(schema))}`;
  }

  #responses({ responses }: JsonObject): string {
    const all = Object.entries(responses as Record<string, JsonObject>);
    const isError = ({ content }: JsonObject) => "application/problem+json" in Object(content);
    const errors = all.filter(([, response]) => isError(this.#resolved(response)));
    const answers = all
      .map(([status, response]) => [status, this.#resolved(response)] as const)
      .filter(([, response]) => !isError(response));
    const shown = answers.map(([status, response]) => {
      const { description, content = {} } = response as { description: string; content?: JsonObject };
      return `<h4>${escape(status)}</h4>${prose(description)}${this.#content(content)}`;
    });
    const links = errors.map(([, response]) => this.#problemLinks(String(response.$ref))).flat();
    return shown.join("") + (links.length === 0 ? "" : `<p class="errors">Errors: ${links.join(", ")}</p>`);
  }

  #problemLinks(ref: string): string[] {
    const name = ref.slice(ref.lastIndexOf("/") + 1);
    if (!/^[a-z]/.test(name)) return [link("errors", name)];
    const codes = name.split(".").filter((code) => (CODES as string[]).includes(code));
    return codes.map((code) => link(`error.${code}`, code));
  }

  /** `looked` may follow references, so that a request body is shown in full where it is needed. */
  #content(content: JsonObject, looked = (schema: JsonObject) => schema): string {
    return Object.entries(content as Record<string, { schema: JsonObject; example?: unknown }>)
      .map(
        ([type, media]) =>
          `<p>${code(type)} ${typeOf(media.schema)}</p>${shape(looked(media.schema))}${example(media.example)}`,
      )
      .join("");
  }

  /** Follows a reference into the components. */
  #resolved(given: JsonObject): JsonObject {
    if (typeof given.$ref !== "string") return given;
    return given.$ref
      .split("/")
      .slice(1)
      .reduce<JsonObject>((at, name) => at[name] as JsonObject, this.#document);
  }
}

/** A webhook is titled by its name, a route by its summary. */
function titleOf({ path, operation }: Located): string {
  return path.startsWith("/") ? operation.summary : path;
}

function accessOf(security: readonly [] | undefined, scope: unknown): string {
  if (security !== undefined) return "no key";
  return scope === undefined ? "any key" : `scope ${code(scope)}`;
}

function link(id: string, text: string): string {
  return `<a href="#${escape(id)}">${escape(text)}</a>`;
}

// Each piece of the page takes plain text and returns escaped HTML.
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escape(value: unknown): string {
  return String(value).replaceAll(/[&<>"']/g, (char) => ENTITIES[char]!);
}

function code(value: unknown): string {
  return `<code>${escape(value)}</code>`;
}

/** Renders paragraphs, with code in backticks. Returns "" if there is no text. */
function prose(text: unknown): string {
  if (typeof text !== "string") return "";
  const paragraphs = escape(text).split("\n\n");
  return paragraphs.map((each) => `<p>${each.replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>`).join("");
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((each) => `<th>${escape(each)}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

function example(value: unknown): string {
  if (value === undefined) return "";
  return `<pre>${escape(typeof value === "string" ? value : JSON.stringify(value, null, 2))}</pre>`;
}

/** Renders the members of an object as a table, with nested objects below. Returns "" if there are no members. */
function shape(schema: JsonObject): string {
  const rows = members(schema, "");
  return rows.length === 0 ? "" : table(["field", "", ""], rows);
}

function members(schema: JsonObject, prefix: string): string[][] {
  const {
    properties = {},
    required = [],
    items,
    allOf = [],
  } = schema as {
    properties?: Record<string, JsonObject>;
    required?: string[];
    items?: JsonObject;
    allOf?: JsonObject[];
  };
  const own = Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const optional = required.includes(name) ? "" : " <small>optional</small>";
    return [[code(path) + optional, typeOf(member), prose(member.description)], ...members(member, `${path}.`)];
  });
  const inner = items === undefined ? [] : members(items, prefix === "" ? "[]." : `${prefix.slice(0, -1)}[].`);
  return [...own, ...inner, ...allOf.flatMap((each) => members(each, prefix))];
}

/** Describes a type in words: `string or null`, `array of Delivery`, with its bounds. */
export function typeOf(schema: JsonObject): string {
  const { $ref, type, items, anyOf, allOf, enum: values } = schema;
  if (typeof $ref === "string") return reference($ref);
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(" or ");
  if (Array.isArray(allOf))
    return allOf
      .map(typeOf)
      .filter((each) => each !== "object")
      .join(" with ");
  if ("const" in schema) return code(JSON.stringify(schema.const));
  if (Array.isArray(values)) return values.map((value) => code(value)).join(", ") + bounds(schema);
  if (type === "array" && items !== undefined) return `array of ${typeOf(items as JsonObject)}${bounds(schema)}`;
  return escape([type ?? "anything"].flat().join(" or ")) + bounds(schema);
}

const BOUNDS: Record<string, string> = {
  format: "",
  minimum: "at least ",
  exclusiveMinimum: "more than ",
  maximum: "at most ",
  minLength: "length at least ",
  maxLength: "length at most ",
  minItems: "at least ",
  maxItems: "at most ",
  maxProperties: "members at most ",
  default: "default ",
};

function bounds(schema: JsonObject): string {
  const parts = Object.entries(BOUNDS).flatMap(([name, text]) => {
    const value = schema[name];
    return value === undefined ? [] : text + (name === "format" ? String(value) : JSON.stringify(value));
  });
  return parts.length === 0 ? "" : ` <small>${escape(parts.join(", "))}</small>`;
}

function reference(ref: string): string {
  const name = escape(ref.split("/").at(-1));
  return `<a href="#shape.${name}">${name}</a>`;
}
