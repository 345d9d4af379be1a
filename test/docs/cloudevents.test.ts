/**
 * The official CloudEvents SDK reads what endpoints get whose format is a CloudEvent, and the daemon reads what the SDK
 * makes. It is installed into a temporary
 * folder, so this needs the registry; where it cannot be installed, the test is skipped.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { BINARY_HEADERS, bodyIn, shapeOf } from "../../src/domain/endpoints/body-format.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";

const SDK = "cloudevents@10.0.0";
const scratch = mkdtempSync(join(tmpdir(), "webhookd-cloudevents-"));
afterAll(() => rmSync(scratch, { recursive: true }));

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
interface Sdk {
  readonly CloudEvent: new (attributes: object) => object;
  readonly HTTP: {
    toEvent(message: Message): { validate(): boolean };
    structured(event: object): Message;
    binary(event: object): Message;
  };
}

/** Returns null, with a message, if the SDK cannot be installed here. */
function install(): Sdk | null {
  try {
    execFileSync("npm", ["install", "--silent", "--prefix", scratch, SDK], { stdio: "pipe", timeout: 50_000 });
  } catch (error) {
    process.stderr.write(`SKIPPED: ${SDK} cannot be installed here: ${String(error).split("\n")[0]}\n`);
    return null;
  }
  return createRequire(join(scratch, "index.js"))("cloudevents") as Sdk;
}

const sdk = install();

const HEAD = { id: "evt_1", type: "budget.exceeded", createdAt: "2026-11-20T09:55:00.123Z", tenant: "acme:eu" };
const DATA = '{"amount":1.10,"name":"café"}';

it("an attempt is a valid event in both modes, and not one without its attributes", ({ skip }) => {
  if (sdk === null) return skip();
  for (const format of ["cloudevents", "cloudevents_binary"] as const) {
    const shape = shapeOf(format, HEAD);
    const headers = { "content-type": shape.contentType, ...Object.fromEntries(shape.headers) };
    const body = Buffer.from(bodyIn(shape, Buffer.from(DATA))).toString();
    const event = sdk.HTTP.toEvent({ headers, body });
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({
      specversion: "1.0",
      id: HEAD.id,
      source: "/tenants/acme:eu",
      type: HEAD.type,
      time: HEAD.createdAt,
      datacontenttype: "application/json",
      data: { amount: 1.1, name: "café" },
    });
  }
  const { [BINARY_HEADERS[2]]: _, ...withoutSource } = Object.fromEntries(shapeOf("cloudevents_binary", HEAD).headers);
  const headers = { "content-type": "application/json", ...withoutSource };
  expect(() => sdk.HTTP.toEvent({ headers, body: DATA }).validate()).toThrow();
});

it("an event of the SDK is published once, in whatever mode it comes", async ({ skip }) => {
  if (sdk === null) return skip();
  const daemon = await TestDaemon.start();
  const receiver = await TestReceiver.start();
  onTestFinished(() => receiver.close());
  await daemon.register(receiver.url, { format: "cloudevents_binary" });
  const data = { name: "café €" };
  const attributes = { id: "no 7", source: "https://a.example/shop?x=1", type: "budget.exceeded" };
  const event = new sdk.CloudEvent({ ...attributes, time: "2026-11-20T09:00:00.000Z", data });
  const answers = [];
  for (const { headers, body } of [sdk.HTTP.structured(event), sdk.HTTP.binary(event), sdk.HTTP.structured(event)]) {
    answers.push(await daemon.request("POST", "/v1/webhooks/events", body, headers));
  }
  const [first, ...others] = answers.map(({ status, body }) => ({ status, body }));
  expect(first).toMatchObject({ status: 202, body: { type: "budget.exceeded", delivery_count: 1 } });
  expect(others).toEqual([first, first]);
  await daemon.daemon.idle();
  expect(receiver.requests).toHaveLength(1);
  const { headers, body } = receiver.requests[0]!;
  expect(sdk.HTTP.toEvent({ headers, body: body.toString() })).toMatchObject({ id: first!.body.id, data });
});
