/**
 * The example of docs/endpoint-auth.md, with a real OAuth 2.0 server: oauth2-mock-server, which makes signed tokens. It
 * is installed into a temporary folder, so this needs the registry; where it cannot be installed, the test is skipped.
 */
import { execFileSync } from "node:child_process";
import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { closeAfter, receiverOf } from "../harness/exchange.ts";

const SERVER = "oauth2-mock-server@9.3.0";
const scratch = mkdtempSync(join(tmpdir(), "webhookd-oauth2-"));
afterAll(() => rmSync(scratch, { recursive: true }));

interface TokenResponse {
  body: Record<string, unknown>;
  statusCode: number;
}
interface TokenService {
  once(event: "beforeResponse", change: (response: TokenResponse) => void): void;
  on(event: "beforeTokenSigning", change: (token: { payload: Record<string, unknown> }, request: any) => void): void;
}
interface OAuth2Server {
  readonly issuer: { readonly url: string; readonly keys: { generate(algorithm: string): Promise<unknown> } };
  readonly service: TokenService;
  start(port: number, host: string): Promise<void>;
  stop(): Promise<void>;
}

/** Returns null, with a message, if the server cannot be installed here. */
function install(): (new () => OAuth2Server) | null {
  try {
    execFileSync("npm", ["install", "--silent", "--prefix", scratch, SERVER], { stdio: "pipe", timeout: 50_000 });
  } catch (error) {
    process.stderr.write(`SKIPPED: ${SERVER} cannot be installed here: ${String(error).split("\n")[0]}\n`);
    return null;
  }
  return createRequire(join(scratch, "index.js"))("oauth2-mock-server").OAuth2Server;
}

const Server = install();

it("the example gets tokens of a real server, which its receiver can verify", async ({ skip }) => {
  if (Server === null) return skip();
  const server = new Server();
  await server.issuer.keys.generate("RS256");
  await server.start(0, "127.0.0.1");
  closeAfter(() => server.stop());
  const clients: string[] = [];
  let made = 0;
  server.service.on("beforeTokenSigning", ({ payload }, { headers }) => {
    clients.push(headers.authorization);
    payload["jti"] = String(++made);
  });
  const { keys } = (await (await fetch(`${server.issuer.url}/jwks`)).json()) as { keys: JsonWebKey[] };
  const key = createPublicKey({ key: keys[0]!, format: "jwk" });
  /** Returns the claims of the token in the header, after checking its signature. */
  const claimsOf = (authorization: string | undefined) => {
    const [head, claims, signature] = authorization!.replace(/^Bearer /, "").split(".") as [string, string, string];
    expect(verify("sha256", Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, "base64url"))).toBe(true);
    return JSON.parse(Buffer.from(claims, "base64url").toString());
  };

  const [, example] = /```json\n(.*?)```/s.exec(readFileSync("docs/endpoint-auth.md", "utf8"))!;
  const auth = { ...JSON.parse(example!), token_url: `${server.issuer.url}/token` };
  const receiver = await receiverOf();
  const daemon = await TestDaemon.start({ clock: systemClock, settings: { RETRY_DELAYS: "1500ms" } });
  const { id } = await daemon.register(receiver.url, { auth });
  const delivered = async () => {
    await daemon.publish();
    return claimsOf((await receiver.next()).headers.authorization);
  };
  expect(await delivered()).toMatchObject({ iss: server.issuer.url, scope: "hooks:write", jti: "1" });
  expect(await delivered()).toMatchObject({ jti: "1" });
  expect(clients).toEqual([`Basic ${btoa("webhookd:a-client-secret")}`]);

  // The receiver revokes it.
  await daemon.daemon.idle();
  receiver.answer(401);
  expect(await delivered()).toMatchObject({ jti: "1" });
  expect(claimsOf((await receiver.next()).headers.authorization)).toMatchObject({ jti: "2" });

  // The server fails once, for a client that has another secret since.
  await daemon.daemon.idle();
  server.service.once("beforeResponse", (response) => {
    response.statusCode = 503;
    response.body = { error: "temporarily_unavailable" };
  });
  await daemon.request("PATCH", `/v1/webhooks/${id}`, { auth: { ...auth, client_secret: "another" } });
  const event = await daemon.publish();
  claimsOf((await receiver.next()).headers.authorization);
  await daemon.daemon.idle();
  expect(await daemon.attempts(event)).toMatchObject([
    { error: "token_error", detail: "no token: the token server answered 503" },
    { outcome: "succeeded" },
  ]);

  // Its tokens last for a second.
  server.service.once("beforeResponse", ({ body }) => (body["expires_in"] = 1));
  await daemon.request("PATCH", `/v1/webhooks/${id}`, { auth: { ...auth, client_auth: "body" } });
  const { jti } = await delivered();
  await expect.poll(async () => (await delivered()).jti, { timeout: 10_000, interval: 200 }).not.toBe(jti);
});
