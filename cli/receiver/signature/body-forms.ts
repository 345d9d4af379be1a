/** The usual mistakes: what a receiver may have turned a body into before it computed the signature. */

export type BodyForm =
  | "without_last_newline"
  | "with_newline"
  | "crlf_as_lf"
  | "lf_as_crlf"
  | "without_bom"
  | "compact_json"
  | "javascript_json"
  | "python_json"
  | "php_json"
  | "go_json"
  | "indented_json"
  | "data_alone"
  | "empty";

export interface FormedBody {
  readonly form: BodyForm;
  readonly bytes: Uint8Array;
}

/** Returns every form that differs from the body itself. JSON forms are left out if the body is not JSON. */
export function bodyForms(body: Uint8Array): FormedBody[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const forms = [...lineForms(bytes), ...jsonForms(bytes), { form: "empty" as const, bytes: Buffer.alloc(0) }];
  return forms.filter((one) => !bytes.equals(one.bytes));
}

function* lineForms(bytes: Buffer): Generator<{ form: BodyForm; bytes: Buffer }> {
  // Decode one byte per character, so that only line ends change.
  const text = bytes.toString("latin1");
  const latin1 = (form: BodyForm, changed: string) => ({ form, bytes: Buffer.from(changed, "latin1") });
  yield latin1("without_last_newline", text.replace(/\r?\n$/, ""));
  yield latin1("with_newline", `${text}\n`);
  yield latin1("crlf_as_lf", text.replaceAll("\r\n", "\n"));
  yield latin1("lf_as_crlf", text.replaceAll(/\r?\n/g, "\r\n"));
  yield latin1("without_bom", text.replace(/^\xef\xbb\xbf/, ""));
}

function* jsonForms(bytes: Buffer): Generator<{ form: BodyForm; bytes: Buffer }> {
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  const utf8 = (form: BodyForm, changed: string) => ({ form, bytes: Buffer.from(changed, "utf8") });
  try {
    const value = JSON.parse(text) as unknown;
    yield utf8("compact_json", respell(text, {}));
    yield utf8("javascript_json", JSON.stringify(value));
    yield utf8("python_json", respell(text, { comma: ", ", colon: ": ", string: (token) => ascii(plain(token)) }));
    yield utf8("php_json", respell(text, { string: (token) => ascii(plain(token)).replaceAll("/", "\\/") }));
    yield utf8("go_json", goText(value));
    yield utf8("indented_json", JSON.stringify(value, null, 2));
    if (isObject(value) && isObject(value.data)) yield utf8("data_alone", JSON.stringify(value.data));
  } catch {
    // The body is not JSON, or is nested deeper than anything we sent, so no receiver parsed it either.
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

interface Spelling {
  readonly comma?: string;
  readonly colon?: string;
  readonly string?: (token: string) => string;
}

/** Works on tokens, because numbers would not survive JSON.parse. */
function respell(text: string, { comma = ",", colon = ":", string = (token) => token }: Spelling): string {
  const tokens = text.match(TOKEN) ?? [];
  const spelt = (token: string) => {
    if (token === ",") return comma;
    if (token === ":") return colon;
    return token.startsWith('"') ? string(token) : token;
  };
  return tokens.map(spelt).join("");
}

function plain(token: string): string {
  return JSON.stringify(JSON.parse(token));
}

function ascii(token: string): string {
  return token.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Writes JSON as Go's `encoding/json` writes a map: with sorted keys, and with the characters escaped that matter in
 * HTML.
 */
function goText(value: unknown): string {
  return JSON.stringify(sorted(value)).replaceAll(
    /[<>&\u2028\u2029]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, sorted(member)] as const);
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
