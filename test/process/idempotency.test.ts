import { setTimeout as wait } from "node:timers/promises";
import { describe, expect } from "vitest";
import { it, type DaemonProcess } from "../harness/process.ts";

const CALLERS = 50;

/** Returns the id of the new event. Rejects if the process ends before it responds. */
async function publish(daemon: DaemonProcess, key: string): Promise<string> {
  const response = await fetch(`${daemon.url}/v1/webhooks/events`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${daemon.key}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: `{"type":"budget.exceeded","data":{"key":"${key}"}}`,
  });
  const { id } = (await response.json()) as { id: string };
  if (response.status !== 202) throw new Error(`the publish was answered ${response.status}`);
  return id;
}

/** Publishes from many callers at once, and returns the ids that they got. */
async function publishAtOnce(daemon: DaemonProcess, key: string, kill: (first: Promise<unknown>) => Promise<unknown>) {
  const callers = Array.from({ length: CALLERS }, () => publish(daemon, key));
  const killed = kill(Promise.any(callers).catch(() => {})).then(() => daemon.kill9());
  const results = await Promise.allSettled(callers);
  await killed;
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

describe.concurrent("publishes under one idempotency key", () => {
  // The times range from before the first commit to after the last response.
  const MOMENTS: [string, (first: Promise<unknown>) => Promise<unknown>][] = [
    ["as they leave", () => Promise.resolve()],
    ["a few milliseconds later", () => wait(8)],
    ["at the first answer", (first) => first],
    ["after the first answer", (first) => first.then(() => wait(5))],
  ];

  it.for(MOMENTS)("make one event though the process is killed %s", async ([, kill], { machine }) => {
    const receiver = await machine.receiver();
    const before = await machine.serve();
    await before.register(receiver.url);
    const answered = await publishAtOnce(before, "order-1", kill);
    const after = await machine.serve();
    const again = await Promise.all(Array.from({ length: 3 }, () => publish(after, "order-1")));
    expect(new Set([...answered, ...again]).size).toBe(1);
    const { body } = await after.request("GET", "/v1/webhooks/events?include=data");
    expect(body.data.map(({ id, data }: { id: string; data: unknown }) => ({ id, data }))).toEqual([
      { id: again[0], data: { key: "order-1" } },
    ]);
    expect(await after.settled(again[0]!)).toMatchObject({ status: "delivered", deliveries: [{}] });
  });
});
