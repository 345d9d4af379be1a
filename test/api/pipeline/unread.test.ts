import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { newExchange, write } from "../../../src/api/pipeline/reply.ts";

const MIB = 1024 * 1024;

/**
 * Starts a server whose response is longer than the system's buffers for a connection, and a client that has asked for
 * it.
 */
async function asking(patienceMs: number): Promise<{ client: Socket; ended: () => boolean }> {
  let closed = false;
  const server = createServer((req, res) => {
    res.once("close", () => (closed = true));
    const exchange = newExchange({ req, res, isTrusted: false, requestId: "1", begun: 0 });
    write(exchange, { status: 200, type: "text/plain", body: "x".repeat(32 * MIB) }, [], () => {}, patienceMs);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  onTestFinished(() => void (client.destroy(), server.close()));
  client.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  return { client, ended: () => closed };
}

it("is kept for no client that does not read it", async () => {
  const { client, ended } = await asking(300);
  await expect.poll(ended).toBe(true);
  let got = 0;
  client.on("data", (chunk) => (got += chunk.length)).on("error", () => {});
  client.resume();
  await new Promise((resolve) => client.once("close", resolve));
  expect(got).toBeLessThan(32 * MIB);
});

it("is kept for a client that reads slowly, and its connection as well", async () => {
  // A busy machine may keep a client from its turn for a good part of this.
  const patienceMs = 2000;
  const { client } = await asking(patienceMs);
  let pausedMs = 0;
  let got = 0;
  let answers = 0;
  client.on("data", (chunk: Buffer) => {
    got += chunk.length;
    if (chunk.includes("HTTP/1.1 200")) answers++;
    client.pause();
    // All the pauses together are longer than the server's patience.
    const pauseMs = pausedMs < 1.2 * patienceMs ? 10 : 0;
    pausedMs += pauseMs;
    setTimeout(() => client.resume(), pauseMs);
  });
  client.resume();
  await expect.poll(() => got).toBeGreaterThan(32 * MIB);
  expect(pausedMs).toBeGreaterThan(patienceMs);
  client.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await expect.poll(() => answers).toBe(2);
});
