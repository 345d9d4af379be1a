import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signingKey } from "../../src/domain/endpoints/secret.ts";
import { adviceOnAttempt } from "../../src/client/advice.ts";
import type { Attempt } from "../../src/client/operations.ts";
import { ATTEMPT_ERRORS } from "../../src/domain/deliveries/attempt.ts";
import { wrongText } from "../../src/portal/delivery/words.ts";
import { curlOf } from "../../src/portal/delivery/curl.ts";
import { envelopeOf } from "../../src/portal/delivery/envelope.ts";
import { indented } from "../../src/portal/parts/indented.ts";
import { spanText } from "../../src/portal/parts/span.ts";
import { judge } from "../../src/portal/verify/judge.ts";
import { signBody, signStandard } from "../../src/portal/verify/signature.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const BODY = '{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","data":{"n":1.10, "s":"é"}}';
const HEADER = "X-Service-Signature";
const sign = (body: string, secret = SECRET) => signingKey(secret).signBody(body);

describe("a signature in the browser", () => {
  it("is the one that the daemon makes", async () => {
    expect(await signBody(SECRET, BODY)).toBe(sign(BODY));
    expect(await signStandard(SECRET, "evt_1", 1_795_168_000, BODY)).toBe(
      signingKey(SECRET).signStandard("evt_1", 1_795_168_000, BODY),
    );
  });

  const python =
    '{"id": "evt_1", "type": "a.b", "created_at": "2026-11-22T10:00:00.000Z", "data": {"n": 1.1, "s": "é"}}';
  it.each([
    [sign(`${BODY}\n`), "There is a newline after the body."],
    [sign(JSON.stringify(JSON.parse(BODY))), "The body was parsed and serialized again."],
    [sign(python), "The body was parsed and serialized again."],
    [sign(JSON.stringify(JSON.parse(BODY).data)), "Only the data was signed, not the whole body."],
    [sign(BODY, SECRET.slice(6)), "The secret was used without whsec_."],
    [Buffer.from(sign(BODY), "hex").toString("base64"), "It is right, but in base64."],
    [`sha256=${sign(BODY)}`, "There is “sha256=” before it."],
    ["v1,abc", "This is the header webhook-signature."],
    ["v1a,abc", "This is the header webhook-signature."],
    [sign(BODY).slice(1), "It has 63 characters; a signature has 64 hexadecimal digits."],
    [sign("something else"), "It was made with a different secret, or from a different body."],
    ["", "There is no signature."],
  ])("that does not match says why: %s", async (signature, reason) => {
    expect(await judge(BODY, signature, [{ name: "x", secret: SECRET }], HEADER)).toMatchObject({
      matches: false,
      reason,
    });
  });

  it("matches in upper case, after the header's name, and with either secret of a rotation", async () => {
    const secrets = [
      { name: "with the current secret", secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
      { name: "with the next secret", secret: SECRET },
    ];
    const verdict = await judge(BODY, `X-Service-Signature: ${sign(BODY).toUpperCase()}`, secrets, HEADER);
    expect(verdict).toEqual({ matches: true, by: "with the next secret" });
  });

  it("is in the header that the daemon is set to", async () => {
    const secrets = [{ name: "with the current secret", secret: SECRET }];
    const header = "X-Acme-Signature";
    expect(await judge(BODY, `x-acme-signature: ${sign(BODY)}`, secrets, header)).toMatchObject({ matches: true });
    expect(await judge(BODY, "", secrets, header)).toMatchObject({ todo: "Paste the value of X-Acme-Signature." });
    const curl = await curlOf({ url: "https://example.com", event: "evt_1", body: BODY, secret: SECRET, header });
    expect(curl).toContain(`-H 'X-Acme-Signature: ${sign(BODY)}'`);
  });
});

describe("a key of another kind, which anyone may know", () => {
  it.each(["whpk_Y3VydmU=", "whsk_Y3VydmU="])("is never taken for an HMAC's: %s", async (key) => {
    const forged = createHmac("sha256", key).update(BODY).digest("hex");
    expect(await judge(BODY, forged, [{ name: "x", secret: key }], HEADER)).toMatchObject({
      matches: false,
      reason: "This page checks HMAC only, and this is a key of another kind.",
    });
    const curl = await curlOf({ url: "https://example.com", event: "evt_1", body: BODY, secret: key, header: HEADER });
    expect(curl).not.toContain(HEADER);
  });
});

describe("the body of a request", () => {
  it("is cut out of the answer byte for byte", () => {
    const data = String.raw`{"big": 9007199254740993,"price":1.10,"text":"a \"quoted\" {brace}, \\ and é","list":[ 1 ,{}]}`;
    const answer = `{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","status":"failed","data":${data},"deliveries":[{"data":1}]}`;
    expect(envelopeOf(answer)).toBe(
      `{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","data":${data}}`,
    );
  });

  it("is shown with its lines broken and its digits as they are", () => {
    expect(indented('{"a":9007199254740993,"b":[1.10,{ }],"c":"x,y:{"}')).toBe(
      '{\n  "a": 9007199254740993,\n  "b": [\n    1.10,\n    {}\n  ],\n  "c": "x,y:{"\n}',
    );
  });
});

describe("what is wrong with an attempt", () => {
  it.each(ATTEMPT_ERRORS)("is told without naming a setting: %s", (error) => {
    const phases = { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null };
    const attempt = {
      id: "att_1",
      endpoint: "ep_1",
      url: "https://a.example/",
      detail: "",
      remote_address: null,
      phases,
    };
    const advice = adviceOnAttempt({ ...attempt, error, status_code: null } as unknown as Attempt);
    expect(`${wrongText(advice)} ${advice.receiver} ${advice.customer}`).not.toMatch(/\[[a-z]+\]/);
  });
});

describe("a span", () => {
  it.each([
    [500, "1 second"],
    [65_000, "1 minute 5 seconds"],
    [3_600_000, "1 hour"],
    [90_061_000, "1 day 1 hour"],
  ])("of %i ms is %s", (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });
});
