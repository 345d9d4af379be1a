import { createHmac, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  areApart,
  FORMATS,
  FurtherSigner,
  type FurtherSignature,
  isFor,
  SIGNED_PARTS,
  type SignatureFormat,
  templateFault,
  timestampIn,
  VALUE_PARTS,
  verifies,
} from "../../src/domain/endpoints/further-signature.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEXT = "whsec_plJ3nmyCDGBKInavdOK15jsl7RgYxV2q";
const body = Buffer.from('{"id":"evt_1","data":{"name":"café"}}');
const request = { id: "evt_1", timestamp: 1_795_168_000, body, url: "https://a.example/hook" };

const mac = (text: string, key: string | Buffer = SECRET, encoding: "hex" | "base64" = "hex") =>
  createHmac("sha256", key).update(text).digest(encoding);
const decoded = (secret: string) => Buffer.from(secret.slice("whsec_".length), "base64");

function headersOf(format: SignatureFormat, ...secrets: string[]): Record<string, string> {
  const headers: string[] = [];
  new FurtherSigner(format, secrets).sign(headers, request);
  return Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]!]] : [])));
}

const CUSTOM: SignatureFormat = {
  headers: [["X-Acme", "id={id} at={timestamp} sig={signature}"]],
  signed: "{url}|{timestamp}|{id}|{body}",
  entry: "{signature}",
  separator: null,
  hash: "sha512",
  encoding: "base64",
  key: "text",
};

describe("a signature in another sender's format", () => {
  it("is what its receivers compute", () => {
    const t = request.timestamp;
    const two = (one: (key: string) => string, separator: string) => [SECRET, NEXT].map(one).join(separator);
    expect(headersOf(FORMATS.svix, SECRET, NEXT)).toEqual({
      "svix-id": "evt_1",
      "svix-timestamp": String(t),
      "svix-signature": two((key) => `v1,${mac(`evt_1.${t}.${body}`, decoded(key), "base64")}`, " "),
    });
    expect(headersOf(FORMATS.stripe, SECRET, NEXT)).toEqual({
      "Stripe-Signature": `t=${t},${two((key) => `v1=${mac(`${t}.${body}`, key)}`, ",")}`,
    });
    expect(headersOf(FORMATS.github, SECRET)).toEqual({ "X-Hub-Signature-256": `sha256=${mac(String(body))}` });
    expect(headersOf(FORMATS.shopify, SECRET)).toEqual({
      "X-Shopify-Hmac-Sha256": mac(String(body), SECRET, "base64"),
    });
    expect(headersOf(FORMATS.convoy, SECRET)).toEqual({ "X-Convoy-Signature": mac(String(body)) });
    expect(headersOf(FORMATS["convoy-advanced"], SECRET)).toEqual({
      "X-Convoy-Signature": `t=${t},v1=${mac(`${t},${body}`)}`,
    });
    const custom = createHmac("sha512", SECRET).update(`https://a.example/hook|${t}|evt_1|${body}`).digest("base64");
    expect(headersOf(CUSTOM, SECRET)).toEqual({ "X-Acme": `id=evt_1 at=${t} sig=${custom}` });
  });

  it("takes a key in base64 with and without whsec_, as Svix's libraries do", () => {
    expect(headersOf(FORMATS.svix, SECRET.slice("whsec_".length))).toEqual(headersOf(FORMATS.svix, SECRET));
  });

  it.each(Object.entries({ ...FORMATS, custom: CUSTOM }))(
    "verifies what it signed, and nothing else: %s",
    (_, format) => {
      const value = Object.values(headersOf(format, SECRET)).at(-1)!;
      const other = `whsec_${randomBytes(32).toString("base64")}`;
      expect(verifies(format, [other, SECRET], request, value)).toBe(true);
      expect(verifies(format, [other], request, value)).toBe(false);
      expect(verifies(format, [SECRET], { ...request, body: Buffer.from("{}") }, value)).toBe(false);
      for (const wrong of ["", "t=,v1=", value.slice(0, -1), `${value}0`, value.toUpperCase(), "(".repeat(5000)]) {
        expect(verifies(format, [SECRET], request, wrong), wrong).toBe(false);
      }
    },
  );

  it("is verified by either secret during a rotation, if it has room for both", () => {
    const value = headersOf(FORMATS.stripe, SECRET, NEXT)["Stripe-Signature"]!;
    for (const secret of [SECRET, NEXT]) expect(verifies(FORMATS.stripe, [secret], request, value)).toBe(true);
  });

  it("says when it was made, if its header says so", () => {
    expect(timestampIn(FORMATS.stripe, "t=1700000000,v1=00")).toBe(1_700_000_000);
    expect(timestampIn(FORMATS.github, "sha256=00")).toBeNull();
    // The receiver signs the header's own time.
    const old = { ...request, timestamp: 0 };
    expect(verifies(FORMATS.stripe, [SECRET], old, headersOf(FORMATS.stripe, SECRET)["Stripe-Signature"]!)).toBe(true);
  });

  it.each([
    ["{body}", null],
    ["{timestamp}.{body}", null],
    ["{timestamp}", "must have {body}"],
    ["{boddy}{body}", "has {boddy}, which is unknown"],
    ["{body}\n", "may only have visible ASCII characters and spaces"],
  ])("has a template without faults: %j", (template, fault) => {
    expect(templateFault(template, SIGNED_PARTS, "body")).toBe(fault);
  });

  it("has a value with the signature", () => {
    expect(templateFault("t={timestamp}", VALUE_PARTS, "signature")).toBe("must have {signature}");
  });
});

describe("the endpoints that get it", () => {
  const of = (tenants: string[] | null, endpoints: string[] | null): FurtherSignature => ({
    name: "github",
    format: FORMATS.github,
    tenants,
    endpoints,
  });

  it("are all, or those of the tenants and ids that it names", () => {
    const target = { tenant: "acme", endpoint: "ep_1" };
    expect(isFor(of(null, null), target)).toBe(true);
    expect(isFor(of(["acme"], null), target)).toBe(true);
    expect(isFor(of(["other"], null), target)).toBe(false);
    expect(isFor(of(null, ["ep_1"]), target)).toBe(true);
    expect(isFor(of(["acme"], ["ep_2"]), target)).toBe(false);
  });

  it("are apart if no endpoint can get both", () => {
    expect(areApart(of(["a"], null), of(["b"], null))).toBe(true);
    expect(areApart(of(["a"], null), of(["a", "b"], null))).toBe(false);
    expect(areApart(of(["a"], null), of(null, null))).toBe(false);
    expect(areApart(of(null, ["ep_1"]), of(null, ["ep_2"]))).toBe(true);
  });
});
