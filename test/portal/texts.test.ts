/** Every text of the page is in the catalogue, and every language has all of them. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseSync } from "rolldown/utils";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../scripts/root.ts";
import { ClientError } from "../../src/client/error.ts";
import type { Answers } from "../../src/client/operations.ts";
import { REASON_CODES } from "../../src/domain/events/why.ts";
import { durationText } from "../../src/portal/delivery/attempt.tsx";
import { faultText, reasonFor } from "../../src/portal/language/api.ts";
import { type Key, KNOWN_FAULTS, type Text } from "../../src/portal/language/catalogue.ts";
import { chosenFrom } from "../../src/portal/language/choice.ts";
import { english } from "../../src/portal/language/english.ts";
import { FRENCH } from "../../src/portal/language/french.ts";
import { GERMAN } from "../../src/portal/language/german.ts";
import { JAPANESE } from "../../src/portal/language/japanese.ts";
import { SPANISH } from "../../src/portal/language/spanish.ts";
import { ENGLISH, speak, t } from "../../src/portal/language/text.ts";
import { spanText } from "../../src/portal/parts/span.ts";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [name: string]: unknown;
}

const files = globSync("src/portal/**/*.{ts,tsx}", { cwd: root }).filter(
  // The daemon runs files.ts, and the folder has the catalogue itself.
  (file) => !file.startsWith("src/portal/language/") && basename(file) !== "files.ts",
);

/** Attributes that are classes, paths and the like, and not read by people. */
const SILENT = /^(?:className|href|d|id|key|role|rel|dir|viewBox|transform|points|type|style|preserveAspectRatio)$/;
/** Words of programs, which are the same in each language, and what only programmers read. */
const CODE = [
  /^POST $/,
  /^\(prefers-color-scheme: dark\)$/,
  /^[\w-]+: ?\(?$/,
  /^curl -sS -i $/,
  /^--data-binary $/,
  /^Bearer $/,
  /^webhookd portal link TENANT$/,
  /^application\/json, text\/plain$/,
  /^the server$/,
  /^a browser has no sockets$/,
  /^\[aria-invalid="true"\], \[role="alert"\]$/,
];
/** Two words, or one that begins like a sentence. */
const WORDS = /\p{L}{2,}[,.;:]? \p{L}|^\p{Lu}\p{Ll}+$/u;
/** Names of languages, of files, of keys and of headers. */
const NAMES =
  /^(?:Node|Python|Go|Java|Ruby|PHP|Enter|HMAC|Ed25519|X-[\w-]+|[a-z]+[A-Z]\w*|https:\/\/example\.com\/webhooks|customer\.country|whk_…|true|false)$/;

/** Returns the texts of a file that people would read, with their lines. */
function textsIn(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const found: string[] = [];
  const say = ({ start }: Node, text: string) => {
    if (CODE.some((one) => one.test(text)) || NAMES.test(text)) return;
    found.push(`${file}:${source.slice(0, start).split("\n").length} ${text.trim()}`);
  };
  const visit = (node: Node, isSilent: boolean): void => {
    if (node.type === "JSXText" && /\p{L}/u.test(String(node["value"]))) say(node, String(node["value"]));
    if (node.type === "ImportDeclaration" || /^TS(?:Template)?LiteralType$/.test(node.type) || isThrow(node)) return;
    const name = node.type === "JSXAttribute" ? (node["name"] as Node)["name"] : undefined;
    const value = node["value"] as Node | null;
    if (typeof name === "string" && !SILENT.test(name) && value?.type === "Literal" && READ.test(name)) {
      if (/\p{L}{2}/u.test(String(value["value"]))) say(value, String(value["value"]));
    }
    const isNowSilent = isSilent || (typeof name === "string" && SILENT.test(name));
    if (!isNowSilent && node.type === "Literal" && typeof node["value"] === "string" && WORDS.test(node["value"])) {
      say(node, node["value"]);
    }
    if (!isNowSilent && node.type === "TemplateElement") {
      const { cooked } = node["value"] as unknown as { readonly cooked: string };
      if (WORDS.test(cooked)) say(node, cooked);
    }
    for (const child of childrenOf(node)) visit(child, isNowSilent);
  };
  visit(parseSync(file, source).program as unknown as Node, false);
  return found;
}

/** Attributes whose text is read, whatever it is. */
const READ = /^(?:aria-label|label|title|placeholder|help|alt|word|what)$/;

/** The text of an exception is for programmers. */
function isThrow({ type }: Node): boolean {
  return type === "ThrowStatement";
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((one): one is Node => typeof one === "object" && one !== null && typeof (one as Node).type === "string");
}

/** Returns the calls of `t` and `rich` that run when the file is loaded, before the language is known. */
function earlyIn(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (/Function/.test(node.type)) return;
    const callee = node.type === "CallExpression" ? (node["callee"] as Node) : undefined;
    if (callee !== undefined && /^(?:t|rich)$/.test(String(callee["name"]))) found.push(`${file} ${node.start}`);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSync(file, source).program as unknown as Node);
  return found;
}

describe("a file of the page", () => {
  it("has no text of its own", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(files.flatMap(textsIn)).toEqual([]);
  });

  it("asks for no text before the language is known", () => {
    expect(files.flatMap(earlyIn)).toEqual([]);
  });
});

const LANGUAGES = [GERMAN, FRENCH, SPANISH, JAPANESE];
const formsOf = (text: Text): [form: string, text: string][] =>
  typeof text === "string" ? [["other", text]] : Object.entries(text);
const partsIn = (text: string) => (text.match(/\{\w+\}|<\/?\w+>/g) ?? []).toSorted();
const keys = Object.keys(english) as Key[];

describe.each(LANGUAGES)("the texts in $tag", ({ tag, texts, api }) => {
  it("are all there, and no others", () => {
    expect(Object.keys(texts).toSorted()).toEqual([...keys].toSorted());
    expect(Object.keys(api!.faults).toSorted()).toEqual([...KNOWN_FAULTS].toSorted());
    expect(Object.keys(api!.reasons).toSorted()).toEqual([...REASON_CODES].toSorted());
    for (const text of Object.values(texts)) for (const [, form] of formsOf(text)) expect(form).not.toBe("");
  });

  it("have the same places and elements as in English, in each form", () => {
    const wrong = keys.filter((key) => {
      const [[, own]] = formsOf(english[key]) as [[string, string]];
      const wanted = partsIn(own).join();
      return formsOf(texts[key]).some(([, form]) => partsIn(form).join() !== wanted);
    });
    expect(wrong).toEqual([]);
  });

  it("have a form for each way to count, and for no other", () => {
    const { pluralCategories } = new Intl.PluralRules(tag).resolvedOptions();
    const counted = keys.filter((key) => typeof english[key] !== "string");
    expect(counted.length).toBeGreaterThan(30);
    for (const key of counted) {
      const forms = formsOf(texts[key]).map(([form]) => form);
      expect({ key, forms: forms.toSorted() }).toEqual({ key, forms: [...pluralCategories].toSorted() });
    }
  });

  it("keep a number and its unit in one line", () => {
    const spans = keys.filter((key) => key.startsWith("span."));
    expect(spans.flatMap((key) => formsOf(texts[key]).filter(([, form]) => form.includes(" ")))).toEqual([]);
    if (tag !== "fr") return;
    const breaks = keys.filter((key) => formsOf(texts[key]).some(([, form]) => / [:;?!»%]|« /.test(form)));
    expect(breaks).toEqual([]);
  });

  it("are translated, unless both languages have the same word", () => {
    const same = keys.filter((key) => JSON.stringify(texts[key]) === JSON.stringify(english[key]));
    const sentences = same.filter((key) => formsOf(texts[key]).some(([, form]) => form.split(" ").length > 3));
    expect(sentences).toEqual([]);
    expect(same.length).toBeLessThan(60);
  });
});

describe("the language of the page", () => {
  it.each([
    [["de-AT", "en"], "de", "de-AT"],
    [["ja"], "ja", "ja"],
    [["fr_CA"], "fr", "fr-CA"],
    [["nl", "es-MX", "de"], "es", "es-MX"],
    [["en-GB", "de"], "en", "en-GB"],
    [["nl", "not a tag"], "en", "en-US"],
    [[], "en", "en-US"],
  ])("of the wishes %j is %s", (wishes, tag, locale) => {
    expect(chosenFrom(wishes)).toEqual({ tag, locale });
  });

  it("decides how numbers, spans and times are written", () => {
    onTestFinished(() => speak(ENGLISH, "en-US"));
    const written = () => [
      t("list.found", { count: 1 }),
      t("list.found", { count: 12_345 }),
      spanText(7_500_000),
      durationText(1234),
    ];
    expect(written()).toEqual(["1 endpoint found.", "12,345 endpoints found.", "2 hours 5 minutes", "1.2 s"]);
    speak(GERMAN, "de");
    expect(written()).toEqual(["1 Endpoint gefunden.", "12.345 Endpoints gefunden.", "2 Stunden 5 Minuten", "1,2 s"]);
    speak(FRENCH, "fr");
    expect(t("list.found", { count: 0 })).toBe("0 endpoint trouvé.");
    expect(t("list.found", { count: 2_000_000 })).toMatch(/^2\s000\s000 d’endpoints trouvés\.$/);
    speak(JAPANESE, "ja");
    expect(written()[0]).toBe("1 件のエンドポイントが見つかりました。");
  });

  it("has its own words for the refusals that it knows, and the API's for others", () => {
    onTestFinished(() => speak(ENGLISH, "en-US"));
    const refused = (code: string, detail: string) =>
      new ClientError("usage", "validation_failed", detail, undefined, { faults: [{ pointer: "/url", code, detail }] });
    expect(faultText(refused("address_self", "is this host"))).toBe("Is this host.");
    speak(GERMAN, "de");
    expect(faultText(refused("address_self", "is this host"))).toBe("Die Adresse führt zu unserem eigenen Server.");
    expect(faultText(refused("invalid_filter", "is not an operator"))).toBe("Is not an operator.");
    expect(faultText(new ClientError("conflict", "endpoint_disabled", "the endpoint is disabled"))).toMatch(
      /^Der Endpoint/,
    );
    expect(reasonFor({ reason: "held", sentence: "It is held." } as Answers["explainEvent"])).toMatch(/zurückgehalten/);
  });
});
