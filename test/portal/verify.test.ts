import { createHmac, generateKeyPairSync, sign as signBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AsymmetricSigningKey, newPrivateKey, publicKeyOf } from "../../src/domain/endpoints/asymmetric.ts";
import { signingKey } from "../../src/domain/endpoints/secret.ts";
import type { Attempt, Delivery, Endpoint } from "../../src/client/operations.ts";
import { ATTEMPT_ERRORS } from "../../src/domain/deliveries/attempt.ts";
import { adviceFor } from "../../src/portal/delivery/advice.ts";
import { headOf } from "../../src/portal/delivery/request-head.ts";
import { colored } from "../../src/portal/parts/code.tsx";
import { curlOf } from "../../src/portal/delivery/curl.ts";
import { sentBody, type SentBody } from "../../src/portal/delivery/envelope.ts";
import { indented } from "../../src/portal/parts/indented.ts";
import { spanText } from "../../src/portal/parts/span.ts";
import { judge } from "../../src/portal/verify/judge.ts";
import { isStandard, judgeStandard } from "../../src/portal/verify/judge-standard.ts";
import { signBody, signStandard } from "../../src/portal/verify/signature.ts";
import { partly } from "../harness/partly.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const BODY = '{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","data":{"n":1.10, "s":"é"}}';
const SENT: SentBody = { contentType: "application/json", headers: [], body: BODY };
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
    [sign(BODY).slice(1), "It has 63 characters; a signature has 64 hexadecimal digits."],
    [sign("something else"), "It was made with a different secret, or from a different body."],
    ["", "There is no signature."],
  ])("that does not match says why: %s", async (signature, reason) => {
    expect(await judge(BODY, signature, [{ name: "x", key: SECRET }], HEADER)).toMatchObject({
      matches: false,
      reason,
    });
  });

  it("matches in upper case, after the header's name, and with either secret of a rotation", async () => {
    const secrets = [
      { name: "with the current secret", key: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
      { name: "with the next secret", key: SECRET },
    ];
    const verdict = await judge(BODY, `X-Service-Signature: ${sign(BODY).toUpperCase()}`, secrets, HEADER);
    expect(verdict).toEqual({ matches: true, by: "with the next secret" });
  });

  it("is in the header that the daemon is set to", async () => {
    const secrets = [{ name: "with the current secret", key: SECRET }];
    const header = "X-Acme-Signature";
    expect(await judge(BODY, `x-acme-signature: ${sign(BODY)}`, secrets, header)).toMatchObject({ matches: true });
    expect(await judge(BODY, "", secrets, header)).toMatchObject({ todo: "Paste the value of X-Acme-Signature." });
    const curl = await curlOf({ url: "https://example.com", event: "evt_1", sent: SENT, secret: SECRET, header });
    expect(curl).toContain(`-H 'X-Acme-Signature: ${sign(BODY)}'`);
  });
});

describe("webhook-signature in the browser", () => {
  const ID = "evt_1";
  const AT = 1_795_168_000;
  const [current, next] = [7, 8].map((byte) => newPrivateKey((length) => Buffer.alloc(length, byte)));
  const KEYS = [
    { name: "with the current public key", key: publicKeyOf(current!) },
    { name: "with the next public key", key: publicKeyOf(next!) },
  ];
  const SECRETS = [{ name: "with the current secret", key: SECRET }];
  const v1a = (body = BODY, at = AT, key = current!) => new AsymmetricSigningKey(key).signStandard(ID, at, body);
  const v1 = (body = BODY, at = AT) => signingKey(SECRET).signStandard(ID, at, body);
  const REQUEST = { body: BODY, timestamp: String(AT), attempts: [], secrets: SECRETS, publicKeys: KEYS };

  it("matches by a public key or by the secret, alone and among other entries", async () => {
    const by = async (given: string, more: object = {}) => {
      const verdict = await judgeStandard({ ...REQUEST, ...more }, given);
      return verdict.matches ? verdict.by : verdict.reason;
    };
    expect(await by(v1a())).toBe("with the current public key");
    expect(await by(v1a(BODY, AT, next))).toBe("with the next public key");
    expect(await by(v1())).toBe("with the current secret");
    expect(await by(`webhook-signature: v1,AAAA v2,x ${v1a()}`)).toBe("with the current public key");
    expect(await by(`${v1()} ${v1a()}`)).toBe("with the current secret, and with the current public key");
    expect(await by(v1a(), { timestamp: "", attempts: [AT - 100, AT - 1] })).toBe("with the current public key");
  });

  const spaced = '{"id": "evt_1", "n": 1}';
  it.each<[given: string, more: object, reason: string]>([
    [v1a().slice(4), {}, "Its version is missing."],
    [`${v1a()} abc`, {}, "An entry has no version."],
    [v1a().slice(0, 60), {}, "It has 42 bytes; an Ed25519 signature has 64."],
    [v1a().slice(0, 61), {}, "What follows v1a, is not base64."],
    [`v1a,${"_-".repeat(43)}`, {}, "It is in base64url."],
    [v1a(), { publicKeys: [] }, "There is no public key yet."],
    [v1a(), { body: "{}" }, "The body has no id."],
    [v1a(), { timestamp: `${AT}000` }, "The timestamp is in milliseconds."],
    [
      v1a(),
      { timestamp: String(AT + 30), attempts: [AT] },
      `It belongs to the attempt whose webhook-timestamp is ${AT}.`,
    ],
    [v1a(), { timestamp: "" }, "It does not match at the times of the attempts that are known."],
    [v1a(`${BODY}\n`), {}, "There is a newline after the body."],
    [v1a(spaced.replaceAll(" ", "")), { body: spaced }, "The body was parsed and serialized again."],
    [
      `v1,${Buffer.from(sign(BODY, SECRET), "hex").toString("base64")}`,
      {},
      "It was made with another key, or for another request.",
    ],
    [v1a("another"), {}, "It was made with another key, or for another request."],
    [v1a(BODY, AT, next), { publicKeys: KEYS.slice(0, 1) }, "It was made with another key, or for another request."],
  ])("that does not match says why: %s %o", async (given, more, reason) => {
    expect(isStandard(given)).toBe(true);
    expect(await judgeStandard({ ...REQUEST, ...more }, given)).toMatchObject({ matches: false, reason });
  });

  it("is explained if only the body was signed", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const x = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url").toString("base64");
    const request = { ...REQUEST, publicKeys: [{ name: "x", key: `whpk_${x}` }] };
    const given = `v1a,${signBytes(null, Buffer.from(BODY), privateKey).toString("base64")}`;
    expect(await judgeStandard(request, given)).toMatchObject({ matches: false, reason: "Only the body was signed." });
  });

  it("is not mistaken for the signature of the body", () => {
    expect([sign(BODY), `sha256=${sign(BODY)}`, "", `${HEADER}: ${sign(BODY)}`].map(isStandard)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe("a key of another kind, which anyone may know", () => {
  it.each(["whpk_Y3VydmU=", "whsk_Y3VydmU="])("is never taken for an HMAC's: %s", async (key) => {
    const forged = createHmac("sha256", key).update(BODY).digest("hex");
    expect(await judge(BODY, forged, [{ name: "x", key }], HEADER)).toMatchObject({
      matches: false,
      reason: "This page checks HMAC only, and this is a key of another kind.",
    });
    const curl = await curlOf({ url: "https://example.com", event: "evt_1", sent: SENT, secret: key, header: HEADER });
    expect(curl).not.toContain(HEADER);
  });
});

describe("a request in the binary mode of CloudEvents", () => {
  const sent: SentBody = { ...SENT, headers: [["ce-id", "evt_1"]] };

  it("is shown, and comes as a curl command, with its headers", async () => {
    const parts = { sent, header: HEADER };
    const delivery = partly<Delivery>({ id: "dlv_1", event: "evt_1", test: false });
    expect(headOf({ ...parts, delivery, endpoint: undefined, attempt: undefined, isStandard: true })).toContain(
      "ce-id: evt_1\nx-webhookd-delivery",
    );
    const curl = await curlOf({ ...parts, url: "https://a.example/", event: "evt_1", secret: SECRET });
    expect(curl).toContain("-H 'ce-id: evt_1'");
  });
});

describe("the head of a request", () => {
  const delivery = partly<Delivery>({ id: "dlv_1", event: "evt_1", test: false });
  const endpoint = partly<Endpoint>({ url: "https://a.example/", headers: { "X-Token": "***" }, signatures: ["hmac"] });

  it("has the ids and the names that were sent, and makes up no value", () => {
    const attempt = partly<Attempt>({ url: "https://before.example/", number: 3 });
    const head = headOf({ delivery, endpoint, sent: SENT, attempt, header: HEADER, isStandard: true });
    expect(head.split("\n")[0]).toBe("POST https://before.example/");
    expect(head).toContain("webhook-id: evt_1\n");
    expect(head).toContain("x-webhookd-delivery: dlv_1\nx-webhookd-attempt: 3\nX-Token: (your own value)");
    expect(head).not.toContain("***");
  });

  it("has no headers of Standard Webhooks where they are not sent", () => {
    const parts = { delivery, endpoint, sent: SENT, attempt: undefined, header: HEADER };
    expect(headOf({ ...parts, isStandard: false })).not.toContain("webhook-id");
    const signed = { ...endpoint, signatures: ["hmac", "ed25519"] } as Endpoint;
    expect(headOf({ ...parts, endpoint: signed, isStandard: false })).toContain("webhook-id");
  });

  it("comes as a curl command with the names of the endpoint's own headers", async () => {
    const curl = await curlOf({
      url: "https://a.example/",
      event: "evt_1",
      sent: SENT,
      secret: SECRET,
      header: HEADER,
      own: ["X-Token"],
    });
    expect(curl).toContain("-H 'X-Token: …'");
  });
});

describe("JSON with colours", () => {
  it("is the same text, whatever is in it", () => {
    const json = String.raw`{"a": [1.10, -2e5, true, null], "b\"": "x: \"1\" <img>", "c": {}}`;
    const text = colored(json).map((part) =>
      typeof part === "string" ? part : (part as { props: { children: string } }).props.children,
    );
    expect(text.join("")).toBe(json);
  });
});

describe("the body of a request", () => {
  it("is cut out of the answer byte for byte", () => {
    const data = String.raw`{"big": 9007199254740993,"price":1.10,"text":"a \"quoted\" {brace}, \\ and é","list":[ 1 ,{}]}`;
    const answer = `{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","tenant":"acme","status":"failed","data":${data},"deliveries":[{"data":1}]}`;
    expect(sentBody(answer)).toEqual({
      contentType: "application/json",
      headers: [],
      body: `{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","data":${data}}`,
    });
    expect(sentBody(answer, "cloudevents_binary")).toMatchObject({
      headers: expect.arrayContaining([["ce-source", "/tenants/acme"]]),
      body: data,
    });
  });

  it("is not made up for a format that this page does not know", () => {
    const answer = '{"id":"evt_1","type":"a.b","created_at":"2026-11-22T10:00:00.000Z","tenant":"acme","data":{}}';
    expect(sentBody(answer, "protobuf" as Endpoint["format"])).toBe("unknown_format");
    expect(sentBody(answer.replace("{}}", "null}"), "protobuf" as Endpoint["format"])).toBe("erased");
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
    const advice = adviceFor(partly<Attempt>({ ...attempt, error, status_code: null }));
    expect(`${advice.problem} ${advice.fix}`).not.toMatch(/\[[a-z]+\]/);
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
