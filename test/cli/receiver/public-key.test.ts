import { describe, expect, it, vi } from "vitest";
import { requestLine } from "../../../cli/receiver/listen/request-line.ts";
import { judge } from "../../../cli/receiver/signature/judgement.ts";
import { nearMiss } from "../../../cli/receiver/signature/near-miss.ts";
import { glyphsOf } from "../../../cli/output/glyphs.ts";
import { newSigningSecret, signingKey, type VerifyingKey } from "../../../src/domain/endpoints/secret.ts";

// Mocks secrets whose receivers have a public key, with which they can verify a signature but not make one.
vi.mock("../../../src/domain/endpoints/secret.ts", async (original) => {
  const secret = await original<typeof import("../../../src/domain/endpoints/secret.ts")>();
  const verifyingKey = (text: string): VerifyingKey => {
    const key = secret.verifyingKey(text);
    return {
      version: key.version,
      signs: null,
      verifyBody: (body, signature) => key.verifyBody(body, signature),
      verifyStandard: (...given) => key.verifyStandard(...given),
    };
  };
  return { ...secret, verifyingKey };
});

const SECRET = newSigningSecret(() => new Uint8Array(32).fill(7));
const BODY = Buffer.from('{"id":"evt_1","data":{}}');
const STAMP = { id: "evt_1", timestamp: 1_795_168_000 };
const key = signingKey(SECRET);

describe("a receiver that only has a public key", () => {
  it.each([
    [[], key.signBody(BODY)],
    [["prefixed"], `sha256=${key.signBody(BODY)}`],
    [["base64"], Buffer.from(key.signBody(BODY), "hex").toString("base64")],
    [["with_newline"], key.signBody(`${BODY.toString()}\n`)],
  ])("is told of %j", (faults, signature) => {
    expect(nearMiss({ signature, body: BODY, secrets: [SECRET] })).toEqual({ faults, whose: null });
  });

  it("is told what is wrong with a webhook-signature", () => {
    const signature = key.signStandard(STAMP.id, STAMP.timestamp, `${BODY.toString()}\n`);
    const asked = { body: BODY, secrets: [SECRET], standard: STAMP };
    expect(nearMiss({ ...asked, signature })?.faults).toEqual(["with_newline"]);
    expect(nearMiss({ ...asked, signature: signature.slice(3) })?.faults).toEqual(["without_version", "with_newline"]);
  });

  it("judges, and shows of a wrong signature only what came", () => {
    const received = (signature: string) => ({
      method: "POST",
      path: "/",
      headers: { "x-service-signature": signature },
      rawHeaders: [],
      body: BODY,
    });
    expect(judge(received(key.signBody(BODY)), [SECRET])).toEqual({ verdict: "ok" });
    const judgement = judge(received("0".repeat(64)), [SECRET]);
    expect(judgement).toMatchObject({ verdict: "wrong", wrong: { computed: null, miss: null } });
    const event = { id: "evt_1", type: "a", attempt: 1, test: false };
    const reception = { at: 0, event, judgement, bytes: 2, status: 400, durationMs: 1, seenBefore: false, fault: null };
    expect(requestLine(reception, glyphsOf({ env: {} }))).toMatch(/header 00000000\.\.\.; a different body/);
  });
});
