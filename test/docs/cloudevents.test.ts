/**
 * The official CloudEvents SDK reads what endpoints get whose format is a CloudEvent. It is installed into a temporary
 * folder, so this needs the registry; where it cannot be installed, the test is skipped.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { BINARY_HEADERS, bodyIn, shapeOf } from "../../src/domain/endpoints/body-format.ts";

const SDK = "cloudevents@10.0.0";
const scratch = mkdtempSync(join(tmpdir(), "webhookd-cloudevents-"));
afterAll(() => rmSync(scratch, { recursive: true }));

interface Sdk {
  readonly HTTP: {
    toEvent(message: { headers: Readonly<Record<string, string>>; body: string }): { validate(): boolean };
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

const HEAD = { id: "evt_1", type: "budget.exceeded", createdAt: "2026-11-20T09:55:00.123Z", tenant: "acme:eu" };
const DATA = '{"amount":1.10,"name":"café"}';

it("is a valid event in both modes, and not one without its attributes", { timeout: 60_000 }, ({ skip }) => {
  const sdk = install();
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
