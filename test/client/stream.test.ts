import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createClient } from "../../src/client/client.ts";
import type { StreamMessage } from "../../src/client/stream.ts";

let close: (() => void) | undefined;
afterEach(() => close?.());

async function streaming(serve: (response: ServerResponse, headers: NodeJS.Dict<string | string[]>) => void) {
  const server = createServer((request, response) => serve(response, { ...request.headers, path: request.url }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  close = () => void server.close().closeAllConnections();
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return createClient({ url, key: "whk_1", keyFile: "key" }, { version: "0" });
}

async function all(messages: AsyncIterable<StreamMessage>): Promise<StreamMessage[]> {
  const seen: StreamMessage[] = [];
  for await (const message of messages) seen.push(message);
  return seen;
}

const forever = new AbortController().signal;

it("yields the daemon's messages, in whatever pieces they arrive, and the id to resume with", async () => {
  const text = 'event: ready\ndata: {}\n\n: still here\nid: a-0\n\nevent: attempt\ndata: {"event":"é"}\n\nid: a-1\n\n';
  const client = await streaming((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const bytes = Buffer.from(text);
    for (const byte of bytes) response.write(Buffer.of(byte));
    response.end("event: never ended");
  });
  expect(await all(client.changes({ signal: forever }))).toEqual([
    { kind: "ready", data: {} },
    { kind: "id", id: "a-0" },
    { kind: "attempt", data: { event: "é" } },
    { kind: "id", id: "a-1" },
  ]);
});

it("requests what came after the last id, and ends without an error when it is stopped", async () => {
  const seen: NodeJS.Dict<string | string[]>[] = [];
  const client = await streaming((response, headers) => {
    seen.push(headers);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: a-8\n\n");
  });
  const end = new AbortController();
  for await (const _ of client.changes({ query: { status: "failed" }, lastEventId: "a-7", signal: end.signal })) {
    end.abort();
  }
  expect(seen).toMatchObject([{ "last-event-id": "a-7", path: "/v1/webhooks/stream?status=failed" }]);
});

it.each([
  [401, "application/problem+json", '{"code":"unauthorized","detail":"no such key"}', "not_allowed"],
  [200, "text/html", "<html>", "unreachable"],
])("fails as any request does when it is answered with %s %s", async (status, type, body, failure) => {
  const client = await streaming((response) => response.writeHead(status, { "content-type": type }).end(body));
  await expect(all(client.changes({ signal: forever }))).rejects.toMatchObject({ failure });
});

it("breaks off with an error when the connection does", async () => {
  const client = await streaming((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: a-1\n\n", () => response.destroy());
  });
  await expect(all(client.changes({ signal: forever }))).rejects.toMatchObject({ failure: "unreachable" });
});
