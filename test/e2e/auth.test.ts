import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createLog } from "../../src/log.ts";
import { onPostgres, TestDaemon } from "../harness/daemon.ts";
import { closeAfter, receiverOf } from "../harness/exchange.ts";
import { caFile, certificate, clientAuth, tlsFile } from "../harness/tls.ts";

const ca = readFileSync(caFile, "utf8");

/** A receiver that lets only clients with a certificate in. It keeps the names on those that it saw. */
async function tlsReceiver() {
  const seen: string[] = [];
  const wanted = { requestCert: true, rejectUnauthorized: true, ca: readFileSync(tlsFile("client-ca"), "utf8") };
  const server = createServer({ ...certificate("good"), ...wanted }, (request, response) => {
    seen.push((request.socket as TLSSocket).getPeerCertificate().subject.CN as string);
    request.resume().on("end", () => response.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closeAfter(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, seen };
}

function tokenAnswer(value: string) {
  return { body: JSON.stringify({ access_token: value, token_type: "Bearer", expires_in: 3600 }) };
}

describe("what a receiver asks for besides a signature", () => {
  it.each([0, 1])("is sent with each attempt by %j threads, and with none once it is removed", async (threads) => {
    const [receiver, tokens, secure] = [await receiverOf(), await receiverOf(tokenAnswer("t1")), await tlsReceiver()];
    const daemon = await TestDaemon.start({ clock: systemClock, settings: { DELIVERY_THREADS: String(threads) } });
    const shownFor = async (auth: object | null) => {
      await daemon.request("PATCH", `/v1/webhooks/${id}`, { auth });
      await daemon.publish();
      return (await receiver.next()).headers.authorization;
    };
    const { id } = await daemon.register(receiver.url);
    expect(await shownFor({ type: "basic", username: "me", password: "pä:ss" })).toBe(
      `Basic ${Buffer.from("me:pä:ss").toString("base64")}`,
    );
    expect(await shownFor({ type: "bearer", token: "b1" })).toBe("Bearer b1");
    const client = { client_id: "me", client_secret: "s", scope: "hooks" };
    expect(await shownFor({ type: "oauth2", token_url: tokens.url, ...client })).toBe("Bearer t1");
    expect(await shownFor(null)).toBeUndefined();
    expect(tokens.requests).toHaveLength(1);

    await daemon.request("PATCH", `/v1/webhooks/${id}`, { url: secure.url, auth: clientAuth("client"), ca });
    await daemon.publish();
    await expect.poll(() => secure.seen).toEqual(["client"]);
    const [endpoint] = (await daemon.request("GET", "/v1/webhooks")).body.data;
    expect(endpoint).toMatchObject({
      auth: {
        type: "mtls",
        certificate: "***",
        key: "***",
        subject: "CN=client",
        not_after: "2120-01-01T00:00:00.000Z",
      },
    });
  });

  it("changes without a gap under load, and applies to the next attempt", async () => {
    const [receiver, secure] = [await receiverOf(), await tlsReceiver()];
    const daemon = await TestDaemon.start({ clock: systemClock });
    const bearer = (token: string) => ({ type: "bearer", token });
    const { id } = await daemon.register(receiver.url, { auth: bearer("0") });
    const other = await daemon.register(secure.url, { auth: clientAuth("client"), ca });
    const events = Array.from({ length: 20 }, () => ({ type: "budget.exceeded", data: {} }));
    const batch = async () => (await daemon.request("POST", "/v1/webhooks/events/batch", { events })).status;
    for (let round = 1; round <= 3; round++) {
      const published = [batch(), batch()];
      const auth = round % 2 === 0 ? clientAuth("client") : clientAuth("client-next");
      await Promise.all([
        daemon.request("PATCH", `/v1/webhooks/${id}`, { auth: bearer(String(round)) }),
        daemon.request("PATCH", `/v1/webhooks/${other.id}`, { auth }),
      ]);
      const begun = receiver.requests.length;
      await daemon.publish({ last: round });
      await Promise.all(published);
      await daemon.daemon.idle();
      const last = receiver.requests.slice(begun).find(({ body }) => body.includes('"last"'))!;
      expect(last.headers.authorization).toBe(`Bearer ${round}`);
      expect(secure.seen.at(-1)).toBe(round % 2 === 0 ? "client" : "client-next");
    }
    // A failed attempt would have been made again.
    expect([receiver.requests.length, secure.seen.length]).toEqual([3 * 41, 3 * 41]);
  });

  it("has a cause of its own if there is no token, and follows the ladder", async () => {
    const [receiver, tokens] = [
      await receiverOf(),
      await receiverOf({ status: 401, body: '{"error":"invalid_client"}' }),
    ];
    tokens.answer(tokenAnswer("t1"));
    const daemon = await TestDaemon.start({ clock: systemClock, settings: { RETRY_DELAYS: "1500ms" } });
    const auth = { type: "oauth2", token_url: tokens.url, client_id: "me", client_secret: "s" };
    await daemon.register(receiver.url, { auth });
    const event = await daemon.publish();
    expect((await receiver.next()).headers.authorization).toBe("Bearer t1");
    await daemon.daemon.idle();
    expect(await daemon.attempts(event)).toMatchObject([
      {
        outcome: "failed",
        error: "token_error",
        status_code: null,
        detail: "no token: the token server answered 401 (invalid_client)",
      },
      { outcome: "succeeded" },
    ]);
  });

  it("is in no log, answer, error, file of the store or backup in the clear", async () => {
    const lines: string[] = [];
    const log = createLog({ format: "json", level: "debug", write: (line) => lines.push(line) });
    const tokens = await receiverOf();
    tokens.answer(...Array.from({ length: 20 }, () => tokenAnswer("canary-token")));
    const [receiver, refusing, secure] = [await receiverOf(), await receiverOf(401, 401, 401), await tlsReceiver()];
    const daemon = await TestDaemon.start({ clock: systemClock, log });
    const answers: string[] = [];
    const ask = async (method: string, path: string, body?: unknown) => {
      const answer = await daemon.request(method, path, body);
      answers.push(JSON.stringify(answer));
      return answer;
    };
    const client = { token_url: tokens.url, client_id: "me", client_secret: "canary-client" };
    const kinds = [
      { type: "basic", username: "me", password: "canary-password" },
      { type: "bearer", token: "canary-bearer" },
      { type: "oauth2", ...client },
      { type: "oauth2", ...client, client_auth: "body" },
    ];
    const events = ["budget.exceeded"];
    const ids: string[] = [];
    for (const url of [receiver.url, refusing.url])
      for (const auth of kinds) ids.push((await ask("POST", "/v1/webhooks", { url, events, auth })).body.id);
    const mtls = { url: secure.url, events, auth: clientAuth("client"), ca };
    ids.push((await ask("POST", "/v1/webhooks", mtls)).body.id);
    const event = await daemon.publish();
    await expect
      .poll(() => receiver.requests.length + refusing.requests.length + secure.seen.length)
      .toBeGreaterThan(8);

    for (const id of ids) {
      const { body } = await ask("GET", `/v1/webhooks/${id}`);
      expect((await ask("PUT", `/v1/webhooks/${id}`, body)).status).toBe(200);
      await ask("GET", `/v1/webhooks/${id}/attempts`);
      for (const auth of [...kinds, mtls.auth]) {
        expect((await ask("PATCH", `/v1/webhooks/${id}`, { auth: { ...auth, type: "other" } })).status).toBe(422);
        expect((await ask("PATCH", `/v1/webhooks/${id}`, { auth: { ...auth, more: auth } })).status).toBe(422);
      }
      const odd = { type: "basic", username: "a:canary-password", password: "canary-password\n" };
      expect((await ask("PATCH", `/v1/webhooks/${id}`, { auth: odd })).status).toBe(422);
      const wrong = { ...mtls.auth, certificate: `canary-${mtls.auth.key}` };
      expect((await ask("PATCH", `/v1/webhooks/${id}`, { auth: wrong })).status).toBe(422);
    }
    for (const path of ["", "/events", `/events/${event}`, `/events/${event}/attempts`, "/deliveries", "/failures"])
      await ask("GET", `/v1/webhooks${path}`);
    for (const path of ["/v1/audit", "/v1/status", "/v1/config", "/metrics"]) await ask("GET", path).catch(() => {});
    if (!onPostgres) expect((await ask("POST", "/v1/backups")).status).toBe(201);
    await daemon.stop();

    const files = readdirSync(daemon.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = [
      ...answers,
      ...lines,
      ...files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1")),
    ];
    // A part of the private key that is in no other PEM.
    const key = mtls.auth.key.split("\n")[2]!;
    const basic = Buffer.from("me:canary-password").toString("base64");
    const found = ["canary-", basic, key].filter((secret) => texts.some((text) => text.includes(secret)));
    expect(found).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
    expect(new Set([...receiver.requests, ...refusing.requests].map(({ headers }) => headers.authorization))).toContain(
      "Bearer canary-token",
    );
    // A second daemon sends the same, after all of it was read and put back.
    const again = await TestDaemon.start({ clock: systemClock, dir: daemon.dir });
    const before = receiver.requests.length;
    await again.publish();
    await expect.poll(() => receiver.requests.length).toBeGreaterThanOrEqual(before + 4);
    const sent = new Set(receiver.requests.slice(before).map(({ headers }) => headers.authorization));
    expect(sent).toEqual(new Set([`Basic ${basic}`, "Bearer canary-bearer", "Bearer canary-token"]));
  });
});
