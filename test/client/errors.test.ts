import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRetryable, PROBLEMS } from "../../src/domain/errors.ts";
import { type ClientError, connect } from "../../src/client/publisher.ts";

const EVENT = { type: "goal.achieved", data: {} };
let server: Server;
let answer: { readonly status: number; readonly body: object };

beforeEach(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { "content-type": "application/problem+json" }).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

async function refusedWith(status: number, body: object): Promise<ClientError> {
  answer = { status, body };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return connect({ url, key: "whk_", giveUpAfterMs: 0 })
    .publish(EVENT)
    .then(
      () => expect.unreachable(),
      (error: ClientError) => error,
    );
}

describe("an error of a publish", () => {
  it.each(Object.entries(PROBLEMS))("advises to publish again only if that can help: %s", async (code, { status }) => {
    const retryable = isRetryable(code as keyof typeof PROBLEMS);
    const error = await refusedWith(status, { code, detail: "d", retryable });
    expect(error).toMatchObject({ code, retryable });
    expect(error.hint!.startsWith("Publish its `events` again")).toBe(retryable);
  });

  it("goes by the status where a proxy answers, or an answer says nothing else", async () => {
    expect((await refusedWith(502, { error: "bad gateway" })).retryable).toBe(true);
    expect((await refusedWith(400, { error: "bad request" })).retryable).toBe(false);
  });

  it("says what to do first", async () => {
    const hint = async (status: number, code: string) => (await refusedWith(status, { code, retryable: false })).hint;
    expect(await hint(422, "idempotency_mismatch")).toContain("a key of its own");
    expect(await hint(403, "forbidden")).toContain("scope `publish`");
    expect(await hint(413, "payload_too_large")).toContain("fewer or smaller");
    expect(await hint(422, "validation_failed")).toContain("correct what the message names");
  });
});

it("an operation that does not exist is refused with the nearest name", async () => {
  const client = connect({ socket: "/nonexistent" });
  const asked = client.call("listEvent" as "listEvents");
  await expect(asked).rejects.toMatchObject({ code: "unknown_operation", hint: "Did you mean listEvents?" });
  await expect(client.text("toString" as "getStatus")).rejects.toMatchObject({ code: "unknown_operation" });
});
