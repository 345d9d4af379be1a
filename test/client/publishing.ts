import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { AsymmetricSigningKey, newPrivateKey, publicKeyOf } from "../../src/domain/endpoints/asymmetric.ts";
import { signingKey } from "../../src/domain/endpoints/secret.ts";
import { SCHEMAS } from "../../scripts/clients/description.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { certificate } from "../harness/tls.ts";
import { KEY, type Language } from "./languages.ts";

const EVENT = { type: "goal.achieved", data: { goal_id: "goal_1", name: "café" } };
const PUBLISHED = { id: "evt_1", type: "goal.achieved", created_at: "2026-11-20T09:55:00.123Z", delivery_count: 0 };

interface Request {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: any;
  readonly at: number;
}

/**
 * Null is a connection that breaks before the response. With `cut` it breaks in the middle of the response. `raw` is
 * sent as it is, instead of `body`.
 */
type Answer = null | { status: number; headers?: Record<string, string>; body?: unknown; raw?: string; cut?: boolean };
const OK = { status: 202, body: PUBLISHED };

/** Publishing and verifying, which each client must do alike. */
export function publishing(languages: readonly Language[]): void {
  let server: Server;
  let requests: Request[];
  /** A function is called when its response is due. */
  let script: (Answer | (() => Answer))[];
  beforeEach(async () => {
    [requests, script] = [[], []];
    server = createServer(async (request, response) => {
      const { url = "", headers } = request;
      requests.push({ path: url, headers, body: JSON.parse(await text(request)), at: performance.now() });
      const next = script.shift();
      const answer = typeof next === "function" ? next() : next;
      if (answer === undefined || answer === null) return request.socket.destroy();
      const body = answer.raw ?? JSON.stringify(answer.body ?? { code: "overloaded", detail: "too much" });
      const length = Buffer.byteLength(body);
      response.writeHead(answer.status, {
        "content-type": "application/json",
        "content-length": length,
        ...answer.headers,
      });
      if (answer.cut) response.write(body.slice(0, 20), () => request.socket.destroy());
      else response.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/`;

  afterAll(() => languages.forEach((language) => language.end()));

  describe.each(languages)("the client in $name", ({ ask, name }: Language) => {
    it("publishes under the path that the daemon is mounted at, with its key and an idempotency key of its own", async () => {
      script = [OK, OK];
      expect(await ask({ url: url(), publish: EVENT })).toEqual({ answer: PUBLISHED });
      await ask({ url: url(), publish: EVENT });
      const keys = requests.map(({ headers }) => headers["idempotency-key"]);
      expect(new Set(keys).size).toBe(2);
      expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
      expect(requests[0]).toMatchObject({
        path: "/hooks/v1/webhooks/events",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: EVENT,
      });
    });

    it("sends again under the same key what got no answer, or one that may pass", async () => {
      script = [null, { status: 503 }, { status: 500 }, { status: 502, body: "bad gateway" }, OK];
      expect(await ask({ url: url(), publish: EVENT, idempotencyKey: "goal-1" })).toEqual({ answer: PUBLISHED });
      expect(requests.map(({ headers }) => headers["idempotency-key"])).toEqual(Array(5).fill("goal-1"));
      const waits = requests.slice(1).map(({ at }, index) => at - requests[index]!.at);
      // The client waits at least half of 100, 200, 400 and 800 ms.
      waits.forEach((wait, index) => expect(wait).toBeGreaterThanOrEqual(49 * 2 ** index));
    });

    it("sends again what got an answer that was cut short", async () => {
      script = [{ ...OK, cut: true }, OK];
      expect(await ask({ url: url(), publish: EVENT, idempotencyKey: "goal-1" })).toEqual({ answer: PUBLISHED });
      expect(requests.map(({ headers }) => headers["idempotency-key"])).toEqual(["goal-1", "goal-1"]);
    });

    it("does not take another server's page for an answer", async () => {
      script = [{ status: 200, headers: { "content-type": "text/html" }, body: "<h1>It works!</h1>" }];
      expect(await ask({ url: url(), publish: EVENT, idempotencyKey: "goal-1" })).toMatchObject({
        error: { code: "unreachable", retryable: false, events: [{ ...EVENT, idempotency_key: "goal-1" }], faults: [] },
      });
      expect(requests).toHaveLength(1);
    });

    it.each([
      ["nothing", 200, ""],
      ["null", 200, "null"],
      ["a text", 202, '"ok"'],
      ["nothing, with 204", 204, ""],
      ["a list", 202, "[]"],
      ["an object that is no publication", 202, '{"code":"ok"}'],
      ["an empty object", 202, "{}"],
    ] as const)("does not take %s for a publication", async (_what, status, raw) => {
      script = [
        { status, raw },
        { status, raw },
      ];
      const batch = [{ ...EVENT, idempotency_key: "goal-1" }];
      const refused = { error: { code: "unreachable", retryable: false, events: batch } };
      expect(await ask({ url: url(), publish: EVENT, idempotencyKey: "goal-1" })).toMatchObject(refused);
      expect(await ask({ url: url(), batch })).toMatchObject(refused);
      expect(requests).toHaveLength(2);
    });

    it("takes an answer without a body for one only if its status is 204", async () => {
      script = [204, 200, 202].map((status) => ({ status, raw: "" }));
      const call = ["replayEvent", { id: "evt_1", body: {} }] as const;
      expect(await ask({ url: url(), call })).toEqual({ answer: null });
      const refused = { error: { code: "unreachable", retryable: false } };
      expect(await ask({ url: url(), call })).toMatchObject(refused);
      expect(await ask({ url: url(), call })).toMatchObject(refused);
    });

    it("hands back every field of an event", async () => {
      const event = {
        ...EVENT,
        created_at: "2026-11-20T09:55:00.123Z",
        publisher_id: "goal_1",
        tags: ["customer:1042"],
        ordering_key: "order_1042",
        tenant: "acme",
      };
      expect(Object.keys(event).toSorted()).toEqual(Object.keys(SCHEMAS.EventDraft!.properties!).toSorted());
      script = [{ status: 422 }];
      const { error } = await ask({ url: url(), publish: event, idempotencyKey: "goal-1" });
      expect(error!.events).toEqual([{ ...event, idempotency_key: "goal-1" }]);
    });

    it("does not try again where the certificate is not trusted", async () => {
      const secure = createSecureServer(certificate("self-signed"));
      await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
      const there = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
      const { error } = await ask({ url: there, publish: EVENT }).finally(() => secure.close());
      expect(error).toMatchObject({ code: "unreachable", retryable: false, events: [EVENT] });
    });

    it.each([
      ["seconds", () => "1", 1000],
      ["an instant", () => new Date(Date.now() + 2_000).toUTCString(), 900],
    ])("waits as long as Retry-After says, as %s", async (_form, retryAfter, atLeast) => {
      script = [() => ({ status: 429, headers: { "retry-after": retryAfter() } }), OK];
      expect(await ask({ url: url(), publish: EVENT })).toEqual({ answer: PUBLISHED });
      expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(atLeast);
    });

    it("does not send again what was refused, and says why", async () => {
      const errors = [{ pointer: "/type", code: "unknown_event_type", detail: "there is none" }];
      script = [{ status: 422, body: { code: "validation_failed", detail: "no such type", errors } }];
      expect(await ask({ url: url(), publish: EVENT, idempotencyKey: "goal-1" })).toMatchObject({
        error: {
          code: "validation_failed",
          retryable: false,
          hint: expect.stringContaining("correct what the message names"),
          events: [{ ...EVENT, idempotency_key: "goal-1" }],
          faults: ["unknown_event_type"],
        },
      });
      expect(requests).toHaveLength(1);
    });

    it("gives up rather than wait past its limit, and hands back a batch with its keys", async () => {
      script = [{ status: 503, headers: { "retry-after": "60" } }];
      const batch = [{ ...EVENT, idempotency_key: "goal-1" }, EVENT];
      const { error } = await ask({ url: url(), batch, giveUpAfterMs: 5_000 });
      expect(error).toMatchObject({ code: "overloaded", retryable: true, events: [batch[0], EVENT] });
      expect(error!.hint).toMatch(/^Publish its .?events.? again/i);
      expect(error!.events).toEqual(requests[0]!.body.events);
      expect(error!.events[1]!.idempotency_key).toMatch(/^[0-9a-f-]{36}$/);
    });

    it("says that nothing answers", async () => {
      const closed = url();
      server.close();
      expect(await ask({ url: closed, publish: EVENT, giveUpAfterMs: 20 })).toMatchObject({
        error: { code: "unreachable" },
      });
    });

    it("publishes what an error handed back without doubling it, to a real daemon, over its socket", async () => {
      const daemon = await TestDaemon.start({ dir: aDirectory() });
      const socket = join(daemon.dir, "webhookd.sock");
      const published = await ask({ socket, publish: EVENT, idempotencyKey: "goal-1" });
      const again = await ask({ socket, batch: [{ ...EVENT, idempotency_key: "goal-1" }, EVENT] });
      const { id } = published.answer as { id: string };
      expect(again.answer).toMatchObject([{ id, duplicate: true }, {}]);
      expect((await daemon.request("GET", "/v1/webhooks/events")).body.data).toHaveLength(2);
    });

    const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
    const BODY = '{"id":"evt_1","data":{"name":"café","n":1}}';
    const PUBLIC = "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
    const hmacOf = (key: string) => createHmac("sha256", key).update(BODY).digest("hex");
    const genuine = hmacOf(SECRET);
    it.each([
      ["genuine", BODY, genuine, [SECRET], null],
      ["in upper case", BODY, genuine.toUpperCase(), [SECRET], null],
      ["by the second secret", BODY, genuine, ["another secret of ours", SECRET], null],
      ["without a secret", BODY, genuine, [""], "no_secret"],
      ["without a signature", BODY, null, [SECRET], "no_signature"],
      ["of the other header", BODY, "v1,MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", [SECRET], "other_header"],
      ["of the other header, of another kind", BODY, "v1a,MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", [SECRET], "other_header"],
      ["cut short", BODY, genuine.slice(0, 62), [SECRET], "malformed_signature"],
      ["by a secret with a newline", BODY, genuine, [`${SECRET}\n`], "secret_has_spaces"],
      ["with a newline at its end", `${BODY}\n`, genuine, [SECRET], "body_changed"],
      ["serialized again", JSON.stringify(JSON.parse(BODY), null, 2), genuine, [SECRET], "body_changed"],
      ["by another secret", BODY, genuine, ["another secret of ours"], "mismatch"],
      ["changed", BODY.replace("1}", "2}"), genuine, [SECRET], "mismatch"],
      ["no text", "\u0000", genuine, [SECRET], "mismatch"],
      ["signed with a public key, which anyone may know", BODY, hmacOf(PUBLIC), [PUBLIC], "mismatch"],
      ["signed with a public key and a newline", BODY, hmacOf(`\n${PUBLIC}`), [`\n${PUBLIC}`], "mismatch"],
    ] as const)("judges a body that is %s", async (_what, body, header, secrets, reason) => {
      const base64 = Buffer.from(body).toString("base64");
      expect(await ask({ verify: [base64, header, secrets] })).toEqual({ reason });
    });

    const knowsEd25519 = name !== "Python" || hasCryptography();
    const NOW = 1_795_168_000;
    const [PRIVATE, OTHER] = [1, 2].map((byte) => newPrivateKey(() => new Uint8Array(32).fill(byte))) as [
      string,
      string,
    ];
    const v1 = signingKey(SECRET).signStandard("evt_1", NOW, BODY);
    const v1a = new AsymmetricSigningKey(PRIVATE).signStandard("evt_1", NOW, BODY);
    const KEYS = [publicKeyOf(PRIVATE)];
    const empty = createHmac("sha256", "").update(`evt_1.${NOW}.${BODY}`).digest("base64");
    it.for([
      ["genuine by v1", v1, [SECRET], NOW, null],
      ["genuine by v1a", v1a, KEYS, NOW, null],
      ["genuine by v1a behind v1", `v1,AAAA ${v1a}`, KEYS, NOW + 300, null],
      ["genuine by the second key", v1a, [publicKeyOf(OTHER), ...KEYS], NOW, null],
      ["genuine by either", `${v1} ${v1a}`, [SECRET, publicKeyOf(OTHER)], NOW, null],
      ["signed by another key", v1a, [publicKeyOf(OTHER)], NOW, "mismatch"],
      ["of a version that the key does not verify", v1, KEYS, NOW, "mismatch"],
      ["cut short", v1a.slice(0, 40), KEYS, NOW, "mismatch"],
      ["no base64", "v1a,!!!!", KEYS, NOW, "mismatch"],
      ["old", v1a, KEYS, NOW + 301, "not_fresh"],
      ["of the future", v1a, KEYS, NOW - 301, "not_fresh"],
      ["without a key", v1a, [" "], NOW, "no_secret"],
      ["without a signature", "", KEYS, NOW, "no_signature"],
    ] as const)("judges a request that is %s", async ([, signature, keys, now, reason], { skip }) => {
      if (keys.some((key) => key.startsWith("whpk_"))) skip(!knowsEd25519, "Python lacks the package cryptography");
      const headers = { "Webhook-Id": "evt_1", "webhook-timestamp": String(NOW), "webhook-signature": signature };
      const body = Buffer.from(BODY).toString("base64");
      expect(await ask({ standard: [body, headers, keys, now] })).toEqual({ reason });
    });

    it("verifies nothing with a malformed secret or a private key", async () => {
      const headers = { "webhook-id": "evt_1", "webhook-timestamp": String(NOW), "webhook-signature": `v1,${empty}` };
      const body = Buffer.from(BODY).toString("base64");
      for (const key of ["whsec_!!!!", "whsec_", PRIVATE]) {
        const { reason } = await ask({ standard: [body, headers, [key], NOW] });
        expect(reason, key).toBeOneOf(["mismatch", "no_secret"]);
      }
    });
  });
}

function hasCryptography(): boolean {
  return spawnSync("python3", ["-c", "import cryptography"]).status === 0;
}
