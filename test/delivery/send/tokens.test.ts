import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/clock.ts";
import { type TokenClient, Tokens } from "../../../src/delivery/send/tokens.ts";
import { TokenWire } from "../../../src/delivery/send/token-wire.ts";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { adviceOn } from "../../../src/domain/advice/advice.ts";
import { noResponse, type Outcome } from "../../../src/domain/deliveries/attempt.ts";
import type { OAuth2Auth } from "../../../src/domain/endpoints/auth.ts";
import { ManualClock } from "../../harness/clock.ts";
import { PUBLIC_ONLY, signedRequest } from "../../harness/egress.ts";
import { closeAfter, egressOf, receiverOf } from "../../harness/exchange.ts";
import type { Answer, TestReceiver } from "../../harness/receiver.ts";

const SECRET = "the client's secret";

function token(value: string, more: object = {}): Answer {
  return { body: JSON.stringify({ access_token: value, token_type: "Bearer", expires_in: 3600, ...more }) };
}

function authAt(server: TestReceiver, more: Partial<OAuth2Auth> = {}): OAuth2Auth {
  const client = { clientId: "me", clientSecret: SECRET, clientAuth: "basic" } as const;
  return { type: "oauth2", tokenUrl: server.url, ...client, scope: null, audience: null, ...more };
}

function tokensOf({ clock = systemClock, timeoutMs = 20_000, egress = egressOf() } = {}) {
  const open = (url: string, tenant: string) => new Exchange(egress, url, tenant);
  const tokens = new Tokens({ clock, open, limitMs: timeoutMs / 2 });
  return (receiver: TestReceiver, auth: OAuth2Auth, tenant = "default") => {
    const exchange = new Exchange(egressOf(), receiver.url, tenant);
    const client = tokens.join(tenant, auth);
    const wire = new TokenWire({ clock, exchange, client, timeoutMs, leave: () => tokens.leave(tenant, auth) });
    closeAfter(() => wire.close());
    return wire;
  };
}

const shownTokens = ({ requests }: TestReceiver) => requests.map(({ headers }) => headers.authorization);

describe("the token of an OAuth 2.0 client", () => {
  it("is fetched once by all that wait for it, kept, and shared within a tenant only", async () => {
    const [server, receiver] = [await receiverOf(token("a"), token("b"), token("c")), await receiverOf()];
    const wireTo = tokensOf();
    const auth = authAt(server, { scope: "hooks write", audience: "https://api" });
    const [one, two] = [wireTo(receiver, auth), wireTo(receiver, { ...auth })];
    const outcomes = await Promise.all([one, two, one].map((wire) => wire.post(signedRequest())));
    await two.post(signedRequest());
    for (const outcome of outcomes) expect(outcome).toMatchObject({ outcome: "succeeded", statusCode: 200 });
    expect(shownTokens(receiver)).toEqual(Array(4).fill("Bearer a"));
    expect(server.requests).toHaveLength(1);
    const [{ headers, body, method }] = server.requests as [(typeof server.requests)[number]];
    expect(method).toBe("POST");
    expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(headers.authorization).toBe(`Basic ${btoa("me:the+client%27s+secret")}`);
    expect(body.toString()).toBe("grant_type=client_credentials&scope=hooks+write&audience=https%3A%2F%2Fapi");

    await wireTo(receiver, auth, "other").post(signedRequest());
    const inBody = authAt(server, { clientAuth: "body" });
    await wireTo(receiver, inBody).post(signedRequest());
    expect(shownTokens(receiver).slice(4)).toEqual(["Bearer b", "Bearer c"]);
    expect(server.requests[2]!.headers.authorization).toBeUndefined();
    expect(Object.fromEntries(new URLSearchParams(server.requests[2]!.body.toString()))).toMatchObject({
      client_id: "me",
      client_secret: SECRET,
    });
  });

  it("is replaced in the background before it expires, and by a later attempt once it has", async () => {
    const [server, receiver] = [await receiverOf(token("a"), token("b"), token("c")), await receiverOf()];
    const clock = new ManualClock();
    const wire = tokensOf({ clock })(receiver, authAt(server));
    const post = async () => expect(await wire.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    await post();
    clock.advance(0.75 * 3_600_000);
    await post();
    await server.next();
    await server.next();
    await expect.poll(async () => (await post(), shownTokens(receiver).at(-1))).toBe("Bearer b");
    expect(shownTokens(receiver)[1]).toBe("Bearer a");
    clock.advance(3_600_000);
    await post();
    expect(shownTokens(receiver).at(-1)).toBe("Bearer c");
    expect(server.requests).toHaveLength(3);
  });

  it("is renewed once after a 401 within the same attempt, but not for a receiver that refuses every token", async () => {
    const server = await receiverOf(token("a"), token("b"), token("c"));
    const receiver = await receiverOf(200, 401, 200, 401, 401);
    const clock = new ManualClock();
    const wire = tokensOf({ clock })(receiver, authAt(server));
    const codes: (number | null)[] = [];
    for (let at = 0; at < 4; at++) codes.push((await wire.post(signedRequest())).statusCode);
    expect(codes).toEqual([200, 200, 401, 401]);
    expect(shownTokens(receiver)).toEqual(["a", "a", "b", "b", "b"].map((value) => `Bearer ${value}`));
    expect(server.requests).toHaveLength(2);
    clock.advance(30_000);
    receiver.answer(401, 200);
    expect(await wire.post(signedRequest())).toMatchObject({ statusCode: 200 });
    expect(shownTokens(receiver).slice(5)).toEqual(["Bearer b", "Bearer c"]);
  });

  it.each([
    [
      "refuses the client",
      { status: 401, body: `{"error":"invalid_client","x":"${SECRET}"}` },
      "(invalid_client)",
      "standing",
    ],
    ["answers an unknown error", { status: 400, body: `{"error":"${SECRET}"}` }, "server answered 400", "standing"],
    ["is broken", 503, "server answered 503", "passing"],
    ["redirects", { status: 302, redirect: "https://other.example/" }, "server answered 302", "standing"],
    ["answers a page", { body: `<html>${SECRET}` }, "is not a JSON object", "standing"],
    ["gives no token", { body: `{"token":"${SECRET}"}` }, "has no access_token", "standing"],
    ["gives a token that would end the header", token("a\r\nx-evil: 1"), "cannot be sent in a header", "standing"],
    ["gives a token of another type", token("a", { token_type: "mac" }), "another type", "standing"],
    ["answers too much", { body: `{"access_token":"${"a".repeat(20_000)}"}` }, "larger than 16 KiB", "standing"],
  ] as const)("is missing if the server %s", async (_, answer, words, kind) => {
    const [server, receiver] = [await receiverOf(answer), await receiverOf()];
    const wire = tokensOf()(receiver, authAt(server));
    const outcome = await wire.post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "failed", error: "token_error", statusCode: null, ours: false });
    expect(outcome.detail).toContain(words);
    expect(JSON.stringify(outcome)).not.toContain(SECRET);
    expect(receiver.requests).toEqual([]);
    const { detail, remoteAddress, phases } = outcome;
    const sample = { url: receiver.url, detail, remoteAddress, phases };
    const subject = { endpoint: "ep_1", attempt: null };
    const { outlook, meaning } = adviceOn({ error: "token_error", status: null, lastsMs: 0, sample }, subject);
    expect(outlook === "Waiting does not help.").toBe(kind === "standing");
    expect(meaning).toContain("No request was sent.");
    // The server is not asked again at once, however many deliveries there are.
    await Promise.all([1, 2, 3].map(() => wire.post(signedRequest())));
    expect(server.requests).toHaveLength(1);
  });

  it("is given up after half of the time for an attempt, and the other half is left for the request", async () => {
    const [server, receiver] = [await receiverOf("hang"), await receiverOf()];
    const outcome = await tokensOf({ timeoutMs: 200 })(receiver, authAt(server)).post(signedRequest());
    expect(outcome).toMatchObject({ error: "token_error", evidence: "silence", remoteAddress: null });
    expect(outcome.detail).toMatch(/^no token: the time limit passed/);

    const slow = await receiverOf({ delayMs: 300, ...(token("a") as object) });
    const silent = await receiverOf("hang");
    const late = await tokensOf({ timeoutMs: 1000 })(silent, authAt(slow)).post(signedRequest());
    expect(late).toMatchObject({ error: "timeout", statusCode: null });
    expect(late.durationMs).toBeGreaterThanOrEqual(990);
    expect(silent.requests).toHaveLength(1);
  });

  it("is not waited for after a 401 for longer than the attempt may last", async () => {
    const [server, receiver] = [await receiverOf(token("a"), "hang"), await receiverOf(200, 401)];
    const clock = new ManualClock();
    const wire = tokensOf({ clock, timeoutMs: 60_000 })(receiver, authAt(server));
    expect(await wire.post(signedRequest())).toMatchObject({ statusCode: 200 });
    await server.next();
    const posted = wire.post(signedRequest());
    await server.next();
    // The token server has half a minute more, but then nothing could be sent within the attempt's time.
    clock.advance(59_001);
    expect(await posted).toMatchObject({ error: "http_status", statusCode: 401 });
    expect(receiver.requests).toHaveLength(2);
    wire.abort();
  }, 10_000);

  it("is never fetched from an address that is not allowed", async () => {
    const [server, receiver] = [await receiverOf(token("a")), await receiverOf()];
    const egress = egressOf({ policy: PUBLIC_ONLY });
    const outcome = await tokensOf({ egress })(receiver, authAt(server)).post(signedRequest());
    expect(outcome).toMatchObject({ error: "token_error", outcome: "failed" });
    expect(outcome.detail).toBe("no token: the host's address is not a public one");
    expect([...server.requests, ...receiver.requests]).toEqual([]);
  });

  it("does not hold up a stop: what waits for it is interrupted, and costs no rung", async () => {
    const [server, receiver] = [await receiverOf("hang"), await receiverOf()];
    const wire = tokensOf()(receiver, authAt(server));
    const posted = wire.post(signedRequest());
    await server.next();
    wire.abort();
    expect(await posted).toMatchObject({ outcome: "interrupted", ours: true });
    expect(receiver.requests).toEqual([]);
  });

  it("is not asked for after a stop, even if the receiver has just answered 401", async () => {
    let asked = 0;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const refused = { ...noResponse("http_status", "the receiver answered 401", 1), statusCode: 401 };
    const exchange = { post: () => promise, abort: () => resolve(refused), close: async () => {} };
    const afterRefusal = async () => (asked++, null);
    const client = { kept: () => ({ value: "a" }), afterRefusal, abort() {} } as unknown as TokenClient;
    const wire = new TokenWire({ clock: systemClock, exchange, client, timeoutMs: 60_000, leave: async () => {} });
    const posted = wire.post(signedRequest());
    wire.abort();
    expect(await posted).toBe(refused);
    expect(asked).toBe(0);
  });

  it("serves the attempts on the way when its endpoint leaves it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = await receiverOf({ until: promise, ...(token("a") as object) });
    const receiver = await receiverOf();
    const wire = tokensOf()(receiver, authAt(server));
    const posted = wire.post(signedRequest());
    await server.next();
    const closed = wire.close();
    resolve();
    expect(await posted).toMatchObject({ outcome: "succeeded" });
    await closed;
  });
});
