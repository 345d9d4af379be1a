import { createServer } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { ownPort } from "../harness/port.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";

/** The time limit in tests that reach it, so that they end soon. */
const SOON = "1s";
/** The time limit of tests in which the status must arrive before the body hangs. */
const AFTER_THE_STATUS = "3s";

async function deliverTo(url: string, timeout = "30s") {
  const daemon = await TestDaemon.start({
    clock: systemClock,
    settings: { RETRY_DELAYS: "20ms", RETRY_TIMEOUT: timeout },
  });
  await daemon.register(url);
  const id = await daemon.publish();
  // `idle` resolves when nothing is due now, so it does not wait for a retry in 20 ms.
  while ((await daemon.event(id)).status === "pending") await daemon.daemon.idle();
  const attempts = await daemon.attempts(id);
  const healthy = await daemon.request("GET", "/readyz").catch((error: unknown) => error);
  return { daemon, id, attempts, healthy };
}

describe("a receiver's fault is recorded with its own error and retried, and the daemon is unharmed:", () => {
  const script: [string, Answer, string, number | null, string?][] = [
    ["a redirect", { redirect: "http://169.254.169.254/latest/meta-data/" }, "redirect_not_followed", 302],
    ["a 404", 404, "http_status", 404],
    ["a 410", 410, "http_status", 410],
    ["a 503", 503, "http_status", 503],
    ["a hang past the limit", "hang", "timeout", null, SOON],
    [
      "a body that drips past the limit, with a failure's status",
      { status: 500, body: "x".repeat(2000), dripMs: 5 },
      "http_status",
      500,
      AFTER_THE_STATUS,
    ],
  ];
  it.each(script)("%s", async (_name, answer, error, status, timeout) => {
    const receiver = await TestReceiver.start([answer, answer]);
    const { attempts, daemon, id } = await deliverTo(receiver.url, timeout);
    expect(receiver.requests).toHaveLength(2);
    expect(attempts).toHaveLength(2);
    for (const attempt of attempts) expect(attempt).toMatchObject({ outcome: "failed", error, status_code: status });
    expect(await daemon.event(id)).toMatchObject({ status: "failed" });
    await receiver.close();
  });

  it("a closed port", async () => {
    const { attempts } = await deliverTo(`http://127.0.0.1:${await ownPort()}/`);
    expect(attempts).toHaveLength(2);
    expect(attempts[0]).toMatchObject({ outcome: "failed", error: "connection_refused", status_code: null });
  });

  it("a header block that drips past the limit", async () => {
    const sockets: NodeJS.Timeout[] = [];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.write("HTTP/1.1 200 OK\r\n");
      sockets.push(setInterval(() => socket.write("x-a: 1\r\n"), 30));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { attempts } = await deliverTo(`http://127.0.0.1:${(server.address() as { port: number }).port}/`, SOON);
    expect(attempts).toHaveLength(2);
    expect(attempts[0]).toMatchObject({ outcome: "failed", error: "timeout", status_code: null });
    for (const timer of sockets) clearInterval(timer);
    server.close();
  });

  it("a certificate that nobody vouches for", async () => {
    const receiver = await TestReceiver.start([], { tls: true });
    const { attempts } = await deliverTo(receiver.url);
    expect(attempts).toHaveLength(2);
    expect(attempts[0]).toMatchObject({ outcome: "failed", error: "tls_error" });
    expect(receiver.requests).toHaveLength(0);
    await receiver.close();
  });
});
