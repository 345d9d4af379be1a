import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { Api, Refused } from "../../scripts/crash/api.ts";

/** Starts a server that answers with one status after another, and repeats the last. */
async function answering(statuses: number[]): Promise<Api> {
  const server = createServer((_, response) => {
    const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!;
    response.writeHead(status, status === 503 ? { "retry-after": "0" } : {}).end('{"state":"ready"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return new Api(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "key");
}

it("the check asks again when the store is busy, and not for ever", async () => {
  expect(await (await answering([503, 503, 200])).get("/v1/status")).toEqual({ state: "ready" });
  await expect((await answering([503])).get("/v1/status")).rejects.toThrow(Refused);
  await expect((await answering([404, 200])).get("/v1/status")).rejects.toThrow("was answered 404");
});
