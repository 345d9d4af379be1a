import { expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { aHalt } from "../../src/api/daemon/pause.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

async function failures(answer: object, env = {}) {
  const daemon = await fakeDaemon(({ path }) =>
    path.startsWith("/v1/webhooks/failures") ? { status: 200, body: answer } : problem(404, "not_found", "gone"),
  );
  const io = new FakeIo({ env });
  return { code: await webhookd(io, "failures", "--socket", daemon.socket), io };
}

it("does not say that all is well while nothing can be sent", async () => {
  const none = { ...someFailures, total: 0, data: [] };
  const daemon = await fakeDaemon(({ path }) =>
    path === "/v1/status" ? { status: 200, body: { ...aStatus, not_sending: [aHalt] } } : { status: 200, body: none },
  );
  const io = new FakeIo();
  await webhookd(io, "failures", "--socket", daemon.socket);
  expect(io.out).toContain(
    "no DNS resolver could be reached. No delivery loses an attempt over it. To fix it: check this",
  );
  expect(io.out).not.toContain("Nothing has failed");
});

it("says so when nothing has failed", async () => {
  const { code, io } = await failures({ ...someFailures, total: 0, data: [] });
  expect([code, io.out]).toEqual([EXIT.ok, `No event received since ${someFailures.since} has failed.\n`]);
});

it("draws the hours in the signs that the terminal knows", async () => {
  const series = [0, 1, 4, 8];
  const answer = { ...someFailures, data: [{ ...someFailures.data[0], series }] };
  expect((await failures(answer, { LANG: "C.UTF-8" })).io.out).toContain("  ▁▄█\n");
  expect((await failures(answer, { LANG: "C.UTF-8", TERM: "dumb" })).io.out).toContain("  _-#\n");
});

it("names what is held, and only what can be replayed", async () => {
  const held = { ...someFailures.data[0], error: "timeout", status_code: null, failed: 0, held: 3 };
  const { io } = await failures({ ...someFailures, total: 700, data: [held] });
  expect(io.out).toContain("no answer in time");
  expect(io.out).toContain(`webhookd endpoints enable ${held.endpoint}\n`);
  expect(io.out).not.toContain("webhookd replay");
  expect(io.err).toContain("1 of 700 groups shown");
});
