/** Reads `[[signature.also]]`: signatures in the formats of other senders. */
import {
  areApart,
  ENCODINGS,
  FORMATS,
  type FurtherSignature,
  headerNames,
  HASHES,
  KEYS,
  SIGNED_PARTS,
  type SignatureFormat,
  templateFault,
  VALUE_PARTS,
} from "../domain/endpoints/further-signature.ts";
import { isId } from "../domain/id.ts";
import { listed } from "../domain/wording.ts";
import { KINDS, readOr, ValueFault } from "./kinds.ts";
import type { Mistake } from "./mistake.ts";
import { isTable, notSections, readNames, unknownField, type Table, type Where } from "./tables.ts";

export const ALSO = "signature.also";
const SECTION = `[[${ALSO}]]`;

const CUSTOM = "custom";
const NAMES = [...Object.keys(FORMATS), CUSTOM];
const SCOPE = ["format", "tenants", "endpoints"] as const;
const CUSTOM_FIELDS = ["header", "hash", "encoding", "key", "signed", "value"] as const;
type Field = (typeof SCOPE)[number] | (typeof CUSTOM_FIELDS)[number];

/** A header that two signatures would give to the same endpoint is a mistake of the second. */
export function readAlso(raw: unknown, where: Where): { also: FurtherSignature[]; mistakes: Mistake[] } {
  const path = ALSO.split(".");
  if (!Array.isArray(raw) || !raw.every(isTable)) return { also: [], mistakes: [notSections(ALSO, where(path))] };
  const also: FurtherSignature[] = [];
  const mistakes: Mistake[] = [];
  raw.forEach((table, index) => {
    const place = (key: string) => where([...path, String(index), ...(Object.hasOwn(table, key) ? [key] : [])]);
    const wrong = (key: string, what: string, todo?: string) =>
      mistakes.push({ where: place(key), what: `${SECTION} ${what}.`, ...(todo !== undefined && { todo }) });
    const before = mistakes.length;
    const read = readFields(table, wrong);
    for (const key of Object.keys(table)) {
      if (!read.fields.some((field) => field === key)) mistakes.push(unknownField(SECTION, key, read.fields, place));
    }
    if (mistakes.length > before || read.signature === null) return;
    const same = also.find((other) => !areApart(other, read.signature!) && shareHeader(other, read.signature!));
    if (same === undefined) also.push(read.signature);
    else wrong("format", `${read.signature.name} has a header that ${same.name} above has for the same endpoints`);
  });
  return { also, mistakes };
}

function readFields(table: Table, wrong: (key: string, what: string, todo?: string) => void) {
  const { format: name } = table;
  const isCustom = name === CUSTOM;
  const fields: readonly Field[] = isCustom ? [...SCOPE, ...CUSTOM_FIELDS] : SCOPE;
  if (typeof name !== "string" || !NAMES.includes(name)) {
    wrong("format", `needs a format: ${listed(NAMES, "or")}`);
    return { fields: [...SCOPE, ...CUSTOM_FIELDS] as readonly Field[], signature: null };
  }
  const take = <T>(key: Field, of: (value: unknown) => T, absent: T): T => {
    if (!Object.hasOwn(table, key)) return absent;
    const value = readOr(
      () => of(table[key]),
      (wanted) => wrong(key, `${key} is not ${wanted}`),
    );
    return value ?? absent;
  };
  const tenants = take("tenants", readNames, null);
  const endpoints = take("endpoints", readEndpoints, null);
  const format = isCustom ? customFormat(table, take, wrong) : FORMATS[name as keyof typeof FORMATS];
  return { fields, signature: format && { name, format, tenants, endpoints } };
}

function readEndpoints(raw: unknown): readonly string[] {
  const fits = Array.isArray(raw) && raw.length > 0 && raw.every((id) => typeof id === "string" && isId("ep", id));
  if (!fits) throw new ValueFault('a list of ids such as ["ep_01m7w8bx02jeyjr53r14y5rmma"]');
  return raw as string[];
}

function customFormat(
  table: Table,
  take: <T>(key: Field, of: (value: unknown) => T, absent: T) => T,
  wrong: (key: string, what: string, todo?: string) => void,
): SignatureFormat | null {
  if (!Object.hasOwn(table, "header")) {
    wrong("format", "needs the name of its header", 'Add header = "X-Acme-Signature".');
    return null;
  }
  const template = (parts: readonly string[], needed: string) => (value: unknown) => {
    const fault = typeof value === "string" ? templateFault(value, parts, needed) : "must be text";
    const known = parts.map((part) => `{${part}}`).join(" ");
    if (fault !== null) throw new ValueFault(`a template: it ${fault}. Its parts are ${known}`);
    return value as string;
  };
  const oneOf =
    <T extends string>(options: readonly T[]) =>
    (value: unknown) =>
      KINDS.choice.read(value, { options }, "") as T;
  return {
    headers: [
      [
        take("header", (value) => KINDS.header.read(value, {}, ""), ""),
        take("value", template(VALUE_PARTS, "signature"), "{signature}"),
      ],
    ],
    signed: take("signed", template(SIGNED_PARTS, "body"), "{body}"),
    entry: "{signature}",
    separator: null,
    hash: take("hash", oneOf(HASHES), "sha256"),
    encoding: take("encoding", oneOf(ENCODINGS), "hex"),
    key: take("key", oneOf(KEYS), "text"),
  };
}

function shareHeader(one: FurtherSignature, other: FurtherSignature): boolean {
  return headerNames(one).some((name) => headerNames(other).includes(name));
}
