/**
 * The kinds of values that settings have: how to read each from TOML or from a variable's text, and how to write it.
 */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { hostPatternFault } from "../domain/network/url.ts";
import { parseDuration, parseSize, printDuration, printSize } from "./units.ts";

export interface Address {
  /** An IP address without brackets, or a name. */
  readonly host: string;
  readonly port: number;
}

export interface Values {
  readonly address: Address;
  readonly bool: boolean;
  readonly choice: string;
  /** `#rrggbb`, or "". */
  readonly color: string;
  readonly cidrs: readonly string[];
  readonly duration: number;
  readonly durations: readonly number[];
  readonly header: string;
  readonly hosts: readonly string[];
  /** Names of private networks, in lower case. `*.` stands for any names below. */
  readonly hostPatterns: readonly string[];
  readonly int: number;
  readonly mode: number;
  readonly origins: readonly string[];
  /** Names and values, as OpenTelemetry writes them in a variable: `a=1,b=2`, with percent-encoded values. */
  readonly pairs: string;
  /** Absolute, or "" for the default place. */
  readonly path: string;
  readonly ports: readonly number[] | "any";
  /** From 0 to 1. */
  readonly ratio: number;
  readonly size: number;
  /** "" for the file in the data directory. */
  readonly store: string;
  readonly text: string;
  /** An http or https URL, or "". */
  readonly url: string;
}

export type KindName = keyof Values;

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly options?: readonly string[];
}

export interface SettingShape extends Bounds {
  readonly section: string;
  readonly key: string;
  readonly kind: KindName;
  /** The value as the file would have it. */
  readonly default: string | boolean | number | readonly string[];
  /** The comment in config.example.toml. */
  readonly sentence: string;
  /** Set if a running daemon applies a change at SIGHUP. */
  readonly live?: true;
  /** Set if knowing the whole value gives access to something. */
  readonly holdsSecret?: true;
}

interface Kind<T> {
  /** The type to parse the text of a flag or variable into, before it is passed to `read`. */
  readonly form: "text" | "bool" | "int" | "number" | "list";
  /** Returns the value, or throws a `ValueFault`. Relative paths start from `folder`. */
  read(raw: unknown, bounds: Bounds, folder: string): T;
  /** Writes the value as TOML. */
  write(value: T): string;
}

/** The message says what the value should have been, as the end of "is not …". */
export class ValueFault extends Error {}

/** Returns undefined if the value does not fit, and calls `wrong` with what it should have been. */
export function readOr<T>(read: () => T, wrong: (wanted: string) => void): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error;
    wrong(error.message);
    return undefined;
  }
}

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
/** `postgres://user:password@host:port,host:port/database?…` */
const STORE = /^postgres(ql)?:\/\/([^\s@/?#]+@)?[^\s@/?#]+\/[^\s@/?#]+(\?[^\s#]*)?$/;
/** Headers that HTTP or other parts of the request already use. */
const TAKEN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|cookie|user-agent|webhook-.*|x-webhookd-.*|traceparent|tracestate|proxy-.*)$/;

export const KINDS: { readonly [K in KindName]: Kind<Values[K]> } = {
  address: { form: "text", read: (raw) => readAddress(text(raw)), write: (address) => quote(printAddress(address)) },
  bool: {
    form: "bool",
    read: (raw) => (typeof raw === "boolean" ? raw : fault("true or false")),
    write: String,
  },
  choice: {
    form: "text",
    read: (raw, { options = [] }) =>
      options.includes(raw as string) ? (raw as string) : fault(`one of ${options.map(quote).join(", ")}`),
    write: quote,
  },
  color: {
    form: "text",
    read: (raw) =>
      /^(#[0-9a-f]{6})?$/i.test(text(raw)) ? text(raw).toLowerCase() : fault('a colour such as "#2563eb"'),
    write: quote,
  },
  cidrs: { form: "list", read: (raw) => list(raw).map(readCidr), write: quoteAll },
  duration: { form: "text", read: readDuration, write: (value) => quote(printDuration(value)) },
  durations: {
    form: "list",
    read: (raw, bounds) => list(raw).map((item) => readDuration(item, bounds)),
    write: (values) => quoteAll(values.map(printDuration)),
  },
  header: {
    form: "text",
    read(raw) {
      const name = text(raw);
      if (!TOKEN.test(name)) return fault("a header name (RFC 9110: letters, digits and !#$%&'*+.^_`|~-)");
      return TAKEN_HEADERS.test(name.toLowerCase())
        ? fault("a different header name: every request already has that header")
        : name;
    },
    write: quote,
  },
  hosts: {
    form: "list",
    read: (raw) => list(raw).map((item) => readHost(item.toLowerCase()) ?? fault("a list of host names without ports")),
    write: quoteAll,
  },
  hostPatterns: {
    form: "list",
    read: (raw) => list(raw).map(readHostPattern),
    write: quoteAll,
  },
  int: {
    form: "int",
    read: (raw, bounds) => within(Number.isSafeInteger(raw) ? (raw as number) : null, bounds, "a whole number", String),
    write: String,
  },
  mode: {
    form: "text",
    read(raw) {
      if (!/^0?[0-7]{3}$/.test(text(raw))) return fault('a file mode such as "0600" or "0660"');
      const mode = Number.parseInt(text(raw), 8);
      // Whoever can open the socket needs no key.
      return (mode & 0o007) === 0 ? mode : fault("closed to other users; use a group and 0660 instead");
    },
    write: (mode) => quote(`0${mode.toString(8).padStart(3, "0")}`),
  },
  origins: { form: "list", read: (raw) => list(raw).map(readOrigin), write: quoteAll },
  pairs: {
    form: "text",
    read(raw) {
      pairsOf(plain(text(raw)));
      return raw as string;
    },
    write: quote,
  },
  path: {
    form: "text",
    read: (raw, _bounds, folder) => (text(raw) === "" ? "" : resolve(folder, plain(text(raw)))),
    write: quote,
  },
  ports: {
    form: "list",
    read(raw) {
      const items = list(raw);
      if (items.length === 1 && items[0] === "any") return "any";
      return (items.length === 0 ? [""] : items).map(readPort);
    },
    write: (ports) => quoteAll(ports === "any" ? [ports] : ports.map(String)),
  },
  ratio: {
    form: "number",
    read: (raw) => (typeof raw === "number" && raw >= 0 && raw <= 1 ? raw : fault("a number from 0 to 1")),
    write: String,
  },
  size: {
    form: "text",
    read: (raw, bounds) =>
      within(typeof raw === "string" ? parseSize(raw) : null, bounds, 'a size such as "256KiB" or "64MiB"', printSize),
    write: (value) => quote(printSize(value)),
  },
  store: {
    form: "text",
    read: (raw) =>
      text(raw) === "" || STORE.test(text(raw))
        ? text(raw)
        : fault(
            'empty, or an address such as "postgres://webhookd@db1,db2/webhookd" (@, : and / of a password as %40, %3A and %2F)',
          ),
    write: quote,
  },
  text: { form: "text", read: (raw) => plain(text(raw)), write: quote },
  url: { form: "text", read: (raw) => readUrl(text(raw)), write: quote },
};

export function printAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Converts the text of a flag or an environment variable to the form it would have in a TOML file. */
export function fromText(kind: KindName, given: string): unknown {
  const { form } = KINDS[kind];
  if (form === "bool") return given === "true" ? true : given === "false" ? false : given;
  if (form === "int") return /^-?\d{1,15}$/.test(given) ? Number(given) : given;
  if (form === "number") return /\d/.test(given) ? Number(given) : given;
  if (form === "list") return given.trim() === "" ? [] : given.split(",").map((item) => item.trim());
  return given;
}

function fault(wanted: string): never {
  throw new ValueFault(wanted);
}

function text(raw: unknown): string {
  return typeof raw === "string" ? raw : fault("a string in quotes");
}

function list(raw: unknown): string[] {
  return Array.isArray(raw) && raw.every((item) => typeof item === "string")
    ? raw
    : fault("a list of strings in quotes");
}

/** These texts go into file names, headers and messages, which a control character could break. */
function plain(value: string): string {
  return /\p{Cc}/u.test(value) ? fault("free of control characters") : value;
}

function within(value: number | null, bounds: Bounds, what: string, print: (value: number) => string): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  if (value !== null && value >= min && value <= max) return value;
  return fault(max < Number.MAX_SAFE_INTEGER ? `${what} from ${print(min)} to ${print(max)}` : what);
}

function readDuration(raw: unknown, bounds: Bounds): number {
  const value = typeof raw === "string" ? parseDuration(raw) : null;
  return within(value, bounds, 'a duration such as "100ms", "30s", "2m" or "1h"', printDuration);
}

function readAddress(value: string): Address {
  const [, bracketed, named, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(value) ?? [];
  const host = bracketed === undefined ? readHost((named ?? "").toLowerCase()) : isIP(bracketed) === 6 && bracketed;
  const port = Number(digits);
  return host && port <= 65_535
    ? { host, port }
    : fault('an address and port such as "127.0.0.1:8420" or "[::1]:8420"');
}

function readHost(value: string): string | null {
  return HOST.test(value) ? value : null;
}

function readHostPattern(value: string): string {
  const pattern = value.toLowerCase();
  const wrong = hostPatternFault(pattern);
  return wrong === null ? pattern : fault(wrong);
}

function readCidr(value: string): string {
  const [, address = "", bits] = /^([^/]+)\/(\d{1,3})$/.exec(value) ?? [];
  const family = address.includes("%") ? 0 : isIP(address);
  const fits = family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
  return fits ? value : fault('a list of networks such as "10.0.0.0/8" or "fd00::/8"');
}

function readOrigin(value: string): string {
  const url = URL.parse(value);
  const fits = url !== null && (url.protocol === "https:" || url.protocol === "http:") && url.origin === value;
  return fits ? value : fault('a list of origins such as "https://console.example.com"');
}

function readUrl(value: string): string {
  const url = URL.parse(plain(value));
  const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (value === "" || fits) return value.replace(/\/+$/, "");
  return fault('a URL such as "https://hooks.example.com"');
}

/** Returns the names and values of a setting of this kind. */
export function pairsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.trim() === "" ? [] : text.split(",").map((pair) => readPair(pair.trim()));
  return Object.fromEntries(pairs);
}

function readPair(pair: string): [name: string, value: string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]{1,100})\s*=\s*([\x21-\x2b\x2d-\x7e ]*)$/.exec(pair) ?? [];
  try {
    if (name !== undefined) return [name, plain(decodeURIComponent(value!))];
  } catch {}
  return fault('a list such as "name=value,other=value", with percent-encoded values');
}

function readPort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  return port >= 1 && port <= 65_535 ? port : fault('a list of ports such as "443", or "any" alone');
}

function quote(value: string): string {
  return JSON.stringify(value);
}

function quoteAll(values: readonly string[]): string {
  return `[${values.map(quote).join(", ")}]`;
}
