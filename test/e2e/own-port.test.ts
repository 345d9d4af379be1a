import { expect, it } from "vitest";
import { TestDaemon } from "../harness/daemon.ts";

const EVENTS = ["budget.exceeded"];

it("never delivers to the daemon itself, by name or address, whatever port it was given and even with --dev", async () => {
  const daemon = await TestDaemon.start();
  const { port } = new URL(daemon.url);
  const refused = await daemon.request("POST", "/v1/webhooks", { url: `http://127.0.0.1:${port}/`, events: EVENTS });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: "/url", code: "address_self" }] } });
  await daemon.register(`http://localhost:${port}/`);
  const event = await daemon.publish();
  await daemon.daemon.idle();
  expect(await daemon.attempts(event)).toMatchObject([{ outcome: "failed", error: "address_self" }]);
});
