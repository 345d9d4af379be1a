import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyForms, type BodyForm } from "../../../cli/receiver/signature/body-forms.ts";
import { nearMiss, type Fault } from "../../../cli/receiver/signature/near-miss.ts";
import { newSigningSecret, signingKey } from "../../../src/domain/endpoints/secret.ts";

const SECRET = newSigningSecret(() => new Uint8Array(32).fill(7));
const OTHER = newSigningSecret(() => new Uint8Array(32).fill(9));
const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => newSigningSecret(() => bytes));
const json = fc
  .dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 5 })
  .map((data) => JSON.stringify({ id: "evt_1", data }));
const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  json.map((text) => Buffer.from(text)),
);

/** Applies each fault of a header to a signature. */
const SPOILT: readonly (readonly [Fault, (hex: string) => string])[] = [
  ["surrounded", (hex) => `"${hex}"\n`],
  ["prefixed", (hex) => `sha256=${hex}`],
  ["prefixed", (hex) => `X-Service-Signature: ${hex}`],
  ["upper_case", (hex) => hex.replaceAll(/^[^a-f]+$/g, "A").toUpperCase()],
  ["cut", (hex) => hex.slice(0, 63)],
  ["cut", (hex) => hex.slice(1)],
  ["cut", (hex) => hex.slice(0, 20) + hex.slice(21)],
  ["cut", (hex) => hex.slice(0, 40)],
  ["too_long", (hex) => `${hex}0a`],
  ["base64", (hex) => Buffer.from(hex, "hex").toString("base64")],
];

/** Each of the programs below writes this body differently. */
const TEXT = '{"id":"evt_1","data":{"b":1.50,"a":"café / <b>","n":9007199254740993}}';
const WRITTEN: readonly (readonly [BodyForm, string])[] = [
  ["with_newline", `${TEXT}\n`],
  ["compact_json", TEXT.replaceAll(",", ",\n ")],
  ["javascript_json", JSON.stringify(JSON.parse(TEXT))],
  ["python_json", String.raw`{"id": "evt_1", "data": {"b": 1.50, "a": "caf\u00e9 / <b>", "n": 9007199254740993}}`],
  ["php_json", String.raw`{"id":"evt_1","data":{"b":1.50,"a":"caf\u00e9 \/ <b>","n":9007199254740993}}`],
  ["go_json", String.raw`{"data":{"a":"café / \u003cb\u003e","b":1.5,"n":9007199254740992},"id":"evt_1"}`],
  ["indented_json", JSON.stringify(JSON.parse(TEXT), null, 2)],
  ["data_alone", JSON.stringify((JSON.parse(TEXT) as { data: object }).data)],
  ["empty", ""],
];

describe("the near miss of a signature", () => {
  it.each(SPOILT)("finds that a header is %s", (fault, spoil) => {
    fc.assert(
      fc.property(secret, body, (key, bytes) => {
        const genuine = signingKey(key).signBody(bytes);
        const signature = spoil(genuine);
        fc.pre(signature !== genuine && !(fault === "upper_case" && signature === "A"));
        expect(nearMiss({ signature, body: bytes, secrets: [key] })).toEqual({ faults: [fault], whose: null });
      }),
    );
  });

  it("finds each form of a body that was signed in place of it, and no longer explanation than that", () => {
    fc.assert(
      fc.property(body, (bytes) => {
        for (const { bytes: formed } of bodyForms(bytes)) {
          const { faults } = nearMiss({
            signature: signingKey(SECRET).signBody(formed),
            body: bytes,
            secrets: [SECRET],
          })!;
          expect(faults).toHaveLength(1);
          // Two forms of a body may be equal. Then either of them is right.
          const forms = bodyForms(bytes).filter((one) => Buffer.from(formed).equals(one.bytes));
          expect(forms.map(({ form }) => form)).toContain(faults[0]);
        }
      }),
    );
  });

  it.each(WRITTEN.filter(([form]) => form !== "compact_json"))("knows what was signed: %s", (form, signed) => {
    const signature = signingKey(SECRET).signBody(signed);
    expect(nearMiss({ signature, body: Buffer.from(TEXT), secrets: [SECRET] })?.faults).toEqual([form]);
  });

  it.each([
    ["without_last_newline", `${TEXT}\n`],
    ["without_last_newline", `${TEXT}\r\n`],
    ["without_bom", `\ufeff${TEXT}`],
    [
      "compact_json",
      JSON.stringify(JSON.parse(TEXT.replace("1.50", '"1.50"').replace("9007199254740993", "1")), null, 4),
    ],
    ["compact_json", TEXT.replaceAll(",", ", ").replaceAll('":', '": ')],
  ])("knows that the body came to be something else: %s", (form, received) => {
    const sent = form === "compact_json" ? JSON.stringify(JSON.parse(received)) : TEXT;
    const signature = signingKey(SECRET).signBody(received.includes("1.50,") ? TEXT : sent);
    expect(nearMiss({ signature, body: Buffer.from(received), secrets: [SECRET] })?.faults).toEqual([form]);
  });

  it("knows both directions of line ends", () => {
    const [lf, crlf] = ["a\nb\n", "a\r\nb\r\n"];
    const found = (signed: string, received: string) =>
      nearMiss({ signature: signingKey(SECRET).signBody(signed), body: Buffer.from(received), secrets: [SECRET] })
        ?.faults;
    expect(found(lf, crlf)).toEqual(["crlf_as_lf"]);
    expect(found(crlf, lf)).toEqual(["lf_as_crlf"]);
  });

  it.each([
    ["key_decoded", Buffer.from(SECRET.slice(6), "base64")],
    ["key_without_prefix", Buffer.from(SECRET.slice(6))],
    ["key_with_newline", Buffer.from(`${SECRET}\n`)],
  ] as const)("finds that the key was made wrongly: %s", (fault, key) => {
    const signature = createHmac("sha256", key).update(TEXT).digest("hex");
    expect(nearMiss({ signature, body: Buffer.from(TEXT), secrets: [OTHER, SECRET] })?.faults).toEqual([fault]);
  });

  it("says whose secret it was, and prefers any fault of our own to somebody else's secret", () => {
    const others = [{ whose: "ep_1", secret: OTHER }];
    const ask = { body: Buffer.from(TEXT), secrets: [SECRET], others };
    expect(nearMiss({ ...ask, signature: signingKey(OTHER).signBody(TEXT) })).toEqual({ faults: [], whose: "ep_1" });
    const both = nearMiss({ ...ask, signature: `sha256=${signingKey(OTHER).signBody(`${TEXT}\n`)}` });
    expect(both).toEqual({ faults: ["prefixed", "with_newline"], whose: "ep_1" });
    const own = {
      ...ask,
      others: [{ whose: "ep_1", secret: SECRET }],
      signature: signingKey(SECRET).signBody(`${TEXT}\n`),
    };
    expect(nearMiss(own)).toEqual({ faults: ["with_newline"], whose: null });
  });

  it("finds up to three faults at once, and never more than there are", () => {
    const keys = [SECRET, `${SECRET}\n`];
    fc.assert(
      fc.property(
        fc.constantFrom(...SPOILT.filter(([fault]) => fault !== "upper_case")),
        fc.nat(12),
        fc.nat(1),
        body,
        ([, spoil], form, key, bytes) => {
          const forms = bodyForms(bytes);
          const signed = forms[form % forms.length]?.bytes ?? bytes;
          const found = nearMiss({
            signature: spoil(signingKey(keys[key]!).signBody(signed)),
            body: bytes,
            secrets: [SECRET],
          });
          expect(found?.faults.length).toBeLessThanOrEqual(2 + key);
        },
      ),
    );
  });

  it("explains nothing by chance", () => {
    fc.assert(
      fc.property(
        secret,
        body,
        fc.string({ maxLength: 100 }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (key, bytes, noise, mac) => {
          for (const signature of [noise, Buffer.from(mac).toString("hex"), Buffer.from(mac).toString("base64"), ""]) {
            expect(nearMiss({ signature, body: bytes, secrets: [key] })).toBeNull();
          }
        },
      ),
    );
  });
});

describe("the near miss of a webhook-signature", () => {
  const standard = { id: "evt_1", timestamp: 1_795_168_000 };
  const key = signingKey(SECRET);
  const signed = (text: string) => key.signStandard(standard.id, standard.timestamp, text);
  const found = (signature: string, text = TEXT) =>
    nearMiss({ signature, body: Buffer.from(text), secrets: [SECRET], standard })?.faults;

  it("finds its faults", () => {
    expect(found(signed(TEXT).slice(3))).toEqual(["without_version"]);
    expect(found(`"${signed(TEXT)}"`)).toEqual(["surrounded"]);
    expect(found(`v1,AAAA ${signed(TEXT)}`, `${TEXT}\n`)).toEqual(["without_last_newline"]);
    const shown = createHmac("sha256", SECRET).update(`evt_1.1795168000.${TEXT}`).digest("base64");
    expect(found(`v1,${shown}`)).toEqual(["key_as_shown"]);
    expect(found("v1,AAAA")).toBeUndefined();
  });
});

it("a body that is nested deeper than any of ours only loses its forms of JSON", () => {
  const deep = Buffer.from("[".repeat(100_000) + "]".repeat(100_000));
  expect(bodyForms(deep).map(({ form }) => form)).toEqual(expect.arrayContaining(["with_newline", "empty"]));
});
