/**
 * Renders the description as one HTML page that loads nothing: its style and its script are in it. It can be read
 * without the script, too.
 */
import type { JsonObject } from "./json-schema.ts";
import { KEY_SCRIPT, SCRIPT, STYLE } from "./page-parts.ts";
import { CODES, exampleOf } from "./responses.ts";
import { LANGUAGES, samplesOf } from "./samples.ts";

/** Shown instead of the description if reading it needs a key. */
export const KEY_PAGE =
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>webhookd</title>` +
  `<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head><body><main><h1>webhookd</h1>` +
  `<form><p><label>API key <input name="key" type="password" required autocomplete="off" autofocus></label> ` +
  `<button>Read the description</button></p><p><output></output></p></form></main><script>${KEY_SCRIPT}</script></body></html>\n`;

type Operation = JsonObject & { operationId: string; summary: string; tags: string[] };
type Located = { method: string; path: string; operation: Operation };

/** The examples of answers, by operation and status. */
export type Examples = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

const CONTROLS =
  `<label>Search <input id="find" type="search" placeholder="replay, 409, uid …"></label><small id="count" role="status"></small>` +
  `<fieldset>${Object.entries(LANGUAGES)
    .map(([id, name], at) => {
      const checked = at === 0 ? " checked" : "";
      return `<label><input type="radio" name="language" id="in-${id}"${checked}> ${name}</label>`;
    })
    .join("")}</fieldset><button id="fold" type="button">Unfold all, or fold</button>`;

/** `document` must come from `openapi()`. */
export function page(document: JsonObject, examples: Examples = new Map()): string {
  const view = new View(document, examples);
  const { info, tags } = document as { info: JsonObject; tags: { name: string; description: string }[] };
  const chapters = tags.map((tag) => view.chapter(tag)).join("");
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>webhookd ${escape(info.version)}</title>` +
    `<meta name="viewport" content="width=device-width, initial-scale=1"><style>${STYLE}</style></head><body>` +
    `<header><strong>webhookd</strong><small>${escape(info.version)}</small>${CONTROLS}</header>` +
    `<nav aria-label="Contents">${view.contents(tags)}</nav><main><h1>The HTTP interface</h1>` +
    `<section id="about">${prose(info.description)}${clients()}</section>${chapters}${view.problems()}${view.shapes()}</main>` +
    `<script>${SCRIPT}</script></body></html>\n`
  );
}

/** Shows how each client of the samples is made. */
function clients(): string {
  const made = {
    curl: "WEBHOOKD_URL=http://127.0.0.1:8420 WEBHOOKD_KEY=whk_…",
    node: 'import { connect } from "webhookd/client";\nconst webhookd = connect({ url: process.env.WEBHOOKD_URL, key: process.env.WEBHOOKD_KEY });',
    python: 'import os, webhookd\nclient = webhookd.Client(os.environ["WEBHOOKD_URL"], key=os.environ["WEBHOOKD_KEY"])',
  };
  return samples(made);
}

function samples(by: Readonly<Record<string, string>>): string {
  return Object.entries(by)
    .map(([language, text]) => `<pre class="sample ${language}">${escape(text)}</pre>`)
    .join("");
}

class View {
  readonly #document: JsonObject;
  readonly #operations: Located[];
  readonly #examples: Examples;

  constructor(document: JsonObject, examples: Examples) {
    this.#document = document;
    this.#examples = examples;
    const { paths, webhooks } = document as Record<string, Record<string, Record<string, Operation>>>;
    this.#operations = Object.entries({ ...paths, ...webhooks }).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  contents(tags: readonly { name: string }[]): string {
    const of = (name: string) =>
      this.#in(name).map((located) => `<li>${link(located.operation.operationId, titleOf(located))}</li>`);
    const chapters = tags.map(
      ({ name }) => `<details><summary>${escape(name)}</summary><ul>${of(name).join("")}</ul></details>`,
    );
    return `${chapters.join("")}${link("errors", "Errors")}${link("shapes", "Shapes")}`;
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
    const all = table(["code", "status", "title", "for example"], rows);
    return `<section id="errors"><h2>Errors</h2>${item("codes", "<h3>All codes</h3>", all)}</section>`;
  }

  shapes(): string {
    const { schemas } = this.#document.components as { schemas: Record<string, JsonObject> };
    const all = Object.entries(schemas).map(([name, schema]) =>
      item(
        `shape.${name}`,
        `<h3>${escape(name)}</h3>`,
        `<p>${typeOf(schema)}</p>${prose(schema.description)}${shape(schema, (each) => this.#resolved(each))}`,
      ),
    );
    return `<section id="shapes"><h2>Shapes</h2>${all.join("")}</section>`;
  }

  #in(tag: string): Located[] {
    return this.#operations.filter(({ operation }) => operation.tags.includes(tag));
  }

  #operation(located: Located): string {
    const { method, path, operation } = located;
    const { operationId, description, security } = operation;
    const isRoute = path.startsWith("/");
    const head = isRoute
      ? `<span class="verb ${method.toLowerCase()}">${method}</span><h3>${escape(titleOf(located))}</h3>${code(path)}` +
        `<small>${accessOf(security as [] | undefined, operation["x-scope"])}</small>`
      : `<h3>${escape(titleOf(located))}</h3><small>sent to receivers</small>`;
    const text =
      `${prose(isRoute ? undefined : operation.summary)}${prose(description)}` +
      `${this.#parameters(operation)}${this.#body(operation)}${this.#responses(operation)}`;
    return item(operationId, head, text, isRoute ? this.#samples(located) : undefined);
  }

  #samples({ method, path, operation }: Located): string {
    const { operationId: id, responses, requestBody, security } = operation as Operation & Record<string, JsonObject>;
    const good = Object.entries(responses!).filter(([status]) => status.startsWith("2"));
    const contents = good.map(([, response]) => Object.entries(Object(this.#resolved(response as JsonObject).content)));
    const isJson = contents.every((each) => each.every(([type]) => type === "application/json"));
    const isList = contents.some((each) =>
      each.some(([, media]) => (media as { schema: JsonObject }).schema.allOf !== undefined),
    );
    const content = (requestBody as { content?: Record<string, { example?: unknown }> } | undefined)?.content;
    const body = content?.["application/json"]?.example;
    return samples(samplesOf({ id, method, path, isJson, isList, body, needsKey: security === undefined }));
  }

  #parameters({ parameters = [] }: JsonObject): string {
    const rows = (parameters as JsonObject[]).map((given) => {
      const { name, in: place, schema, description } = this.#resolved(given);
      return [code(name), escape(place), typeOf(schema as JsonObject), prose(description)];
    });
    return rows.length === 0 ? "" : `<h4>Parameters</h4>${table(["name", "in", "type", "about"], rows)}`;
  }

  #body({ requestBody }: JsonObject): string {
    if (requestBody === undefined) return "";
    const { required, content } = requestBody as { required: boolean; content: JsonObject };
    return `<h4>Body${required ? "" : " (may be left out)"}</h4>${this.#content(content, (schema) => this.#resolved(schema))}`;
  }

  #responses({ operationId, responses }: JsonObject): string {
    const all = Object.entries(responses as Record<string, JsonObject>);
    const isError = ({ content }: JsonObject) => "application/problem+json" in Object(content);
    const errors = all.filter(([, response]) => isError(this.#resolved(response)));
    const answers = all
      .map(([status, response]) => [status, this.#resolved(response)] as const)
      .filter(([, response]) => !isError(response));
    const examples = this.#examples.get(String(operationId)) ?? {};
    const shown = answers.map(([status, response]) => {
      const { description, content = {} } = response as { description: string; content?: JsonObject };
      return `<h4>${escape(status)}</h4>${prose(description)}${this.#content(content)}${example(examples[status])}`;
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
          `<p>${code(type)} ${typeOf(media.schema)}</p>${shape(looked(media.schema), (each) => this.#resolved(each))}${example(media.example)}`,
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

/** A part of the page that can be folded. */
function item(id: string, head: string, text: string, aside?: string): string {
  const inside =
    aside === undefined
      ? `<div class="inside one">${text}</div>`
      : `<div class="inside"><div>${text}</div><div>${aside}</div></div>`;
  return `<details class="item" id="${escape(id)}"><summary>${head}</summary>${inside}</details>`;
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

/** Follows a reference to a component. */
type Resolve = (schema: JsonObject) => JsonObject;

/** Renders the members of an object as a table, with nested objects below. Returns "" if there are no members. */
function shape(schema: JsonObject, resolve: Resolve): string {
  const rows = members(schema, "", resolve);
  const bases = ((schema.allOf ?? []) as JsonObject[]).filter(({ $ref }) => $ref !== undefined);
  const base = bases.length === 0 ? "" : `<p>All of ${bases.map(typeOf).join(" and ")}, and:</p>`;
  return rows.length === 0 ? base : base + table(["field", "type", "about"], rows);
}

function members(schema: JsonObject, prefix: string, resolve: Resolve): string[][] {
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
    const description = member.description ?? resolve(member).description;
    return [[code(path) + optional, typeOf(member), prose(description)], ...members(member, `${path}.`, resolve)];
  });
  const inner = items === undefined ? [] : members(items, prefix === "" ? "[]." : `${prefix.slice(0, -1)}[].`, resolve);
  return [...own, ...inner, ...allOf.flatMap((each) => members(each, prefix, resolve))];
}

/** Describes a type in words: `string or null`, `array of Delivery`, with its bounds. */
export function typeOf(schema: JsonObject): string {
  const { $ref, type, items, anyOf, allOf, enum: values } = schema;
  if (typeof $ref === "string") return reference($ref) + bounds(schema);
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
