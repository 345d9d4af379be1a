import { describe, expect, it } from "vitest";
import { aHalt } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { FakeIo } from "./fake-io.ts";
import { typed } from "./typed.ts";

describe("webhookd attempts list", () => {
  it.each([
    [anAttempt.event, "listEventAttempts"],
    [anAttempt.delivery, "listDeliveryAttempts"],
    [anAttempt.endpoint, "listEndpointAttempts"],
  ])("of %s asks for %s", async (id, operation) => {
    const { code, daemon } = await typed(["attempts", "list", id]);
    expect([code, daemon.asked()]).toEqual([EXIT.ok, [operation]]);
  });

  it("narrows those of an endpoint, and of nothing else", async () => {
    const flags = ["--outcome=failed", "--error=timeout", "--since=2h"];
    const { last } = await typed(["attempts", "list", anAttempt.endpoint, ...flags]);
    expect(last!.path).toMatch(/\?error=timeout&since=2023-11-14T20%3A13%3A20\.000Z&outcome=failed&order=newest/);
    for (const flag of flags) {
      const { code, daemon } = await typed(["attempts", "list", anAttempt.event, flag]);
      expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    }
  });

  it("refuses what is the id of nothing that is attempted", async () => {
    for (const id of ["att_06fbqxw6w0a1b2c3d4e5f6g7h8", "evt_1", "whk_secret"]) {
      const { code, err, daemon } = await typed(["attempts", "list", id]);
      expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
      expect(err).not.toContain("whk_");
    }
  });
});

it("webhookd attempts show lets nothing that a receiver said steer the terminal", async () => {
  const hostile = "\x1b[2J\x07\u202e";
  const attempt = {
    ...anAttempt,
    detail: hostile,
    response_headers: { "x-a": hostile },
    response_body: `one\r\n${hostile}\ttwo`,
    response_truncated: true,
  };
  const { out } = await typed(["attempts", "show", anAttempt.id], { answers: { getAttempt: attempt } });
  expect(out).toMatch(/^[^\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]*$/);
  expect(out).toContain("response body (beginning)\n  one\n  <U+001B>[2J<U+0007><U+202E>  two\n");
});

describe("webhookd deliveries attempt", () => {
  const before = { ...aWholeDelivery, last_attempt: { ...anAttempt, number: 7 } };
  const after = (status: string, attempt: object) => ({
    ...before,
    status,
    last_attempt: { ...before.last_attempt, ...attempt },
  });
  const delivered = { outcome: "succeeded", status_code: 200, number: 8 };
  it.each([
    ["that delivers", EXIT.ok, "200 in 12 ms", after("delivered", { ...delivered, trigger: "manual" })],
    ["that fails", EXIT.answer_is_no, "503 in 12 ms; next attempt", after("pending", { number: 8, trigger: "manual" })],
    [
      "made needless by one on the wire",
      EXIT.ok,
      "200 in 12 ms",
      after("delivered", { ...delivered, trigger: "ladder" }),
    ],
    ["that comes after one on the wire", EXIT.wait_ran_out, "No answer within 15s", after("pending", { number: 8 })],
    ["that was cancelled", EXIT.answer_is_no, "503 in 12 ms", after("cancelled", {})],
    ["that is not made", EXIT.wait_ran_out, "No answer within 15s", before],
  ])("waits for one %s", async (_, exit, told, last) => {
    const answers = { attemptDelivery: before, getDelivery: [before, before, last] };
    const { code, out } = await typed(["deliveries", "attempt", before.id], { answers });
    expect([code, out]).toEqual([exit, expect.stringContaining(told)]);
  });

  it.each([
    [
      { ...aHalt, reason: "operator" as const, detail: "all sending was paused by socket: bank maintenance" },
      "Not attempted yet: all sending was paused by socket: bank maintenance. To resume: webhookd resume.",
    ],
    [aHalt, `Not attempted yet: ${aHalt.detail}.`],
  ])("says at once why none is made: %j", async (halt, told) => {
    const getStatus = { ...aStatus, not_sending: [halt] };
    const answers = { attemptDelivery: before, getDelivery: [before], getStatus };
    const { code, out, io } = await typed(["deliveries", "attempt", before.id], { answers });
    expect([code, out]).toEqual([EXIT.wait_ran_out, `${before.id}  ${told}\n`]);
    expect(io.monotonic() - new FakeIo().monotonic()).toBeLessThan(1000);
  });

  it("--no-wait asks for it and no more", async () => {
    const { code, out, daemon } = await typed(["deliveries", "attempt", before.id, "--no-wait"]);
    expect([code, out, daemon.asked()]).toEqual([
      EXIT.ok,
      `${before.id}  queued for an attempt now\n`,
      ["attemptDelivery"],
    ]);
  });
});
