/**
 * A receiver as a customer would write it, without our code. It reads its secret from stdin, verifies each request with
 * plain crypto and with the Standard Webhooks library, responds with 204 or 401, and prints what it received.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const server = createServer(async (request, response) => {
  const body = await buffer(request);
  const secret = (await learned).trim();
  const seen = {
    plain: verifiesPlainly(secret, request.headers, body),
    standard: verifiesByStandard(secret, request.headers, body),
  };
  response.writeHead(seen.plain && seen.standard ? 204 : 401).end();
  console.log(JSON.stringify({ ...seen, event: JSON.parse(body.toString()) }));
});
const learned = text(process.stdin);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: "listening", url: `http://127.0.0.1:${port}/` }));
});

function verifiesPlainly(secret: string, headers: IncomingHttpHeaders, body: Buffer): boolean {
  const given = Buffer.from(String(headers["x-service-signature"]), "hex");
  const expected = createHmac("sha256", secret).update(body).digest();
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The timestamp must be within five minutes of now. */
function verifiesByStandard(secret: string, headers: IncomingHttpHeaders, body: Buffer): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
