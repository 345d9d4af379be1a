import { expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { ATTEMPT_ERRORS } from "../../src/domain/deliveries/attempt.ts";
import { aHalt } from "../../src/api/daemon/sending.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { typed } from "./typed.ts";
import { webhookd } from "./runs.ts";

async function failures(answer: object, env = {}, ...words: string[]) {
  const daemon = await fakeDaemon(({ path }) =>
    path.startsWith("/v1/webhooks/failures") ? { status: 200, body: answer } : problem(404, "not_found", "gone"),
  );
  const io = new FakeIo({ env });
  return { code: await webhookd(io, "failures", "--socket", daemon.socket, ...words), io };
}

it("does not say that all is well while nothing can be sent", async () => {
  const none = { ...someFailures, total: 0, data: [] };
  const daemon = await fakeDaemon(({ path }) =>
    path === "/v1/status" ? { status: 200, body: { ...aStatus, not_sending: [aHalt] } } : { status: 200, body: none },
  );
  const io = new FakeIo();
  await webhookd(io, "failures", "--socket", daemon.socket);
  expect(io.out).toContain("no DNS resolver could be reached. No attempt is used up. To fix it: check this");
  expect(io.out).not.toContain("Nothing has failed");
});

it("says that all sending is paused, for then nothing comes although nothing fails", async () => {
  const listFailures = { ...someFailures, total: 0, data: [] };
  const detail = "all sending was paused by socket: network maintenance";
  const getStatus = { ...aStatus, not_sending: [{ ...aHalt, reason: "operator", detail }] };
  const { out } = await typed(["failures"], { answers: { listFailures, getStatus } });
  expect(out).toContain(`Nothing is being sent: ${detail}. To resume: webhookd resume.\n`);
});

it("says so when nothing has failed", async () => {
  const { code, io } = await failures({ ...someFailures, total: 0, data: [] });
  expect([code, io.out]).toEqual([EXIT.ok, `No event received since ${someFailures.since} has failed.\n`]);
});

it("says that endpoints are disabled where nothing has failed, for then nothing comes all the same", async () => {
  const answers = {
    listFailures: { ...someFailures, total: 0, data: [] },
    listEndpoints: { data: [{ ...anEndpoint, enabled: false }], next_cursor: null, total: 2 },
    getEndpoint: { ...anEndpoint, enabled: false, health: aHealth },
  };
  const tenant = await typed(["failures", "--tenant", "acme"], { answers });
  expect(tenant.out).toContain(
    "Nothing is sent to 2 disabled endpoints: webhookd endpoints list --state disabled --tenant acme\n",
  );
  const all = await typed(["failures"], { answers });
  expect(all.out).toContain("Nothing is sent to 2 disabled endpoints: webhookd endpoints list --state disabled\n");
  const one = await typed(["failures", "--endpoint", anEndpoint.id], { answers });
  expect(one.out).toContain(`It is disabled, so nothing is sent to it: webhookd endpoints show ${anEndpoint.id}\n`);
});

it("means a tenant by its name, where that fits several of its endpoints or none", async () => {
  const tenants = { data: [{ name: "acme", endpoints: 2 }], next_cursor: null };
  const two = [anEndpoint, { ...anEndpoint, id: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t" }];
  for (const data of [two, []]) {
    const answers = { listEndpoints: { data, next_cursor: null }, listTenants: tenants };
    const { code, daemon } = await typed(["failures", "acme"], { answers });
    expect(code).toBe(EXIT.ok);
    expect(daemon.seen.find(({ path }) => path.startsWith("/v1/webhooks/failures"))!.path).toContain("tenant=acme");
  }
});

it("names the tenant that a word of several endpoints may have meant", async () => {
  const two = [anEndpoint, { ...anEndpoint, id: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t" }];
  const listTenants = [
    { data: [], next_cursor: null },
    { data: [{ name: "acme", endpoints: 2 }], next_cursor: null },
  ];
  const answers = { listEndpoints: { data: two, next_cursor: null }, listTenants };
  const upper = await typed(["failures", "ACME"], { answers });
  expect(upper.code).toBe(EXIT.ok);
  const { path } = upper.daemon.seen.find((one) => one.path.startsWith("/v1/webhooks/failures"))!;
  expect(path).toContain("tenant=acme");
  const { code, err } = await typed(["failures", "acne"], { answers });
  expect(code).toBe(EXIT.usage);
  expect(err).toContain("For all of tenant acme: webhookd failures --tenant acme\n");
  const refused = await typed(["failures", "ACME"], {
    answers,
    refuse: (operation) => (operation === "listTenants" ? { status: 403 } : undefined),
  });
  expect(refused.code).toBe(EXIT.usage);
  expect(refused.err).toContain('2 endpoints have "ACME": give a longer part of it');
});

it("does not say that all is well with a tenant that is not known", async () => {
  const listFailures = { ...someFailures, total: 0, data: [] };
  const listTenants = [
    { data: [], next_cursor: null },
    { data: [{ name: "acme", endpoints: 2 }], next_cursor: null },
  ];
  const { out } = await typed(["failures", "--tenant", "acne"], { answers: { listFailures, listTenants } });
  expect(out).toContain('No tenant "acne" has ever published an event');
  expect(out).toContain("Did you mean acme? See `webhookd tenants list`.\n");
  expect(out).not.toContain("has failed");
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

it.each([
  ["failed", "aabbcc"],
  ["retried", "bbccaa"],
  ["held", "ccaabb"],
  ["first", "bbccaa"],
  ["last", "ccbbaa"],
])("--sort %s puts %s in this order, and advises on the first", async (by, order) => {
  const of = (name: string, more: object) => ({ ...someFailures.data[0], endpoint: `ep_${name.repeat(13)}`, ...more });
  const at = (hour: number) => `2026-11-20T0${hour}:00:00.000Z`;
  const data = [
    of("aa", { failed: 9, pending: 1, held: 2, first_at: at(3), last_at: at(4) }),
    of("bb", { failed: 8, pending: 3, held: 1, first_at: at(1), last_at: at(5) }),
    of("cc", { failed: 7, pending: 2, held: 3, first_at: at(2), last_at: at(6) }),
  ];
  const { io } = await failures({ ...someFailures, data, total: 3 }, {}, "--sort", by);
  const rows = [...io.out.matchAll(/^\d+ +\d+ +\d+ +ep_(..)/gm)].map(([, name]) => name);
  expect(rows.join("")).toBe(order);
  expect(io.out).toContain(`endpoint:ep_${order.slice(0, 2).repeat(13)}`);
});

it("says how to be advised on another endpoint, where there is one", async () => {
  const [group] = someFailures.data;
  const other = { ...group, endpoint: `ep_${"b".repeat(26)}` };
  const hint = async (...data: object[]) => {
    const listFailures = { ...someFailures, data, total: data.length };
    return /^For the first group.*$/m.exec((await typed(["failures"], { answers: { listFailures } })).out)?.[0];
  };
  const alone = "For the first group:";
  expect(await hint(group!)).toBe(alone);
  expect(await hint(group!, { ...group, error: "timeout", status_code: null })).toBe(alone);
  expect(await hint(group!, other)).toBe("For the first group (for another: webhookd failures example.com/hook):");
});

it.each(ATTEMPT_ERRORS)("names only commands that run, for %s", async (error) => {
  const code = error === "http_status" || error === "redirect_not_followed" ? 302 : null;
  const group = { ...someFailures.data[0], error, status_code: code, failed: 1, pending: 1, held: 1 };
  const listFailures = { ...someFailures, data: [group] };
  const { out } = await typed(["failures", "--since", "2h"], { answers: { listFailures } });
  const lines = [...out.matchAll(/ {2}webhookd (.+)$/gm)].map(([, line]) => line!);
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) {
    if (line.startsWith("config")) continue; // These commands call no daemon, and advice.test.ts tries them.
    const words = line.match(/(?:"[^"]*"|[^\s"])+/g)!.map((word) => word.replaceAll('"', ""));
    // A command about many deliveries asks for their number, and nobody is there to type it.
    if (words.includes("--canary")) words.push("--dry-run");
    const { code, err } = await typed(words.map((word) => word.replace("…", "hooks.northwind.example/in")));
    expect(code, `${line}\n${err}`).not.toBe(EXIT.usage);
  }
});

it.each([
  [3, null],
  [4, "and 1 more cause"],
  [9, "and 6 more causes"],
])("a tenant with %i causes says what it leaves out", async (causes, more) => {
  const data = Array.from({ length: causes }, (_, index) => ({ ...someFailures.data[0]!, status_code: 500 + index }));
  const { out } = await typed(["tenants", "show", "default"], {
    answers: { listFailures: { ...someFailures, data, total: causes } },
  });
  expect(/and \d+ more causes?/.exec(out)?.[0] ?? null).toBe(more);
});
