import { join } from "node:path";
import { expect } from "vitest";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { it } from "../harness/process.ts";

const RECEIVER = join(import.meta.dirname, "verifying-receiver.ts");

it("an event of each built-in type is verified by a receiver that knows nothing of webhookd", async ({ machine }) => {
  const receiver = machine.spawn(process.execPath, [RECEIVER]);
  const { url } = await receiver.json(({ msg }) => msg === "listening");
  const daemon = await machine.serve();
  const events = BUILT_IN_TYPES.map(({ name }) => name);
  const { signing_secret } = await daemon.register(String(url), { events });
  receiver.child.stdin!.end(signing_secret);

  for (const { name: type, sample: data } of BUILT_IN_TYPES) {
    const { body: published } = await daemon.request("POST", "/v1/webhooks/events", { type, data });
    const { plain, standard, event } = await receiver.json(({ event }) => (event as any)?.id === published.id);
    expect({ plain, standard }).toEqual({ plain: true, standard: true });
    expect(event).toEqual({ id: published.id, type, created_at: published.created_at, data });
    expect(await daemon.settled(published.id)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 1 }] });
  }
});

it("an event is refused by such a receiver when it has another secret, and is not delivered", async ({ machine }) => {
  const receiver = machine.spawn(process.execPath, [RECEIVER]);
  const { url } = await receiver.json(({ msg }) => msg === "listening");
  const daemon = await machine.serve({ settings: { RETRY_DELAYS: "1ms" } });
  await daemon.register(String(url));
  receiver.child.stdin!.end(`whsec_${Buffer.alloc(32).toString("base64")}`);
  const id = await daemon.publish();
  expect(await daemon.settled(id)).toMatchObject({ status: "failed" });
  expect((await daemon.attempts(id)).map(({ status_code }) => status_code)).toEqual([401, 401]);
});
