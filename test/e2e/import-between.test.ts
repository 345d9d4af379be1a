/** People change endpoints here between two imports, and between a plan and its end. No import undoes that. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { apply } from "../../cli/import/apply.ts";
import { convoyIn } from "../../cli/import/convoy.ts";
import type { Described } from "../../cli/import/described.ts";
import { planOf } from "../../cli/import/plan.ts";
import { svixIn } from "../../cli/import/svix.ts";
import { signatureSections } from "../../cli/import/text.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { type Client, ClientError, createClient } from "../../src/client/client.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { svixEndpoint, svixSecret } from "../harness/svix.ts";

type Endpoint = ReturnType<typeof svixEndpoint>;

const described = (...endpoints: Endpoint[]) =>
  svixIn({ applications: [{ id: "app_1", uid: "acme", endpoints }] }, "a.json");

async function begin() {
  const daemon = await TestDaemon.start({});
  const key = readFileSync(join(daemon.dir, "admin.key"), "utf8").trim();
  const client = createClient({ url: new URL(daemon.url), key }, { version: "test" });
  const run = async (
    what: Described,
    wishes: { enable?: boolean; overwrite?: boolean; from?: string } = {},
    { between = async () => {}, through = client }: { between?: () => Promise<unknown>; through?: Client } = {},
  ) => {
    const all = { from: "svix", enable: false, overwrite: false, ...wishes };
    const plan = await planOf(what, all, client);
    await between();
    const { made, left } = await apply(plan, all, through, new FakeIo());
    const rows = plan.endpoints.map((row) => left.get(row) ?? row);
    return { plan, made, left, rows, first: rows[0]! };
  };
  const patch = (uid: string, body: object) =>
    daemon.request("PATCH", `/v1/webhooks/uid:${uid}?tenant=acme`, body as Record<string, unknown>);
  const shown = async (uid: string) => (await daemon.request("GET", `/v1/webhooks/uid:${uid}?tenant=acme`)).body;
  const secretOf = async (uid: string) =>
    (await daemon.request("GET", `/v1/webhooks/uid:${uid}/secret?tenant=acme`)).body;
  return { daemon, client, run, patch, shown, secretOf };
}

it("an endpoint that was disabled here stays disabled, until it is told to overwrite that", async () => {
  const { run, patch, shown } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  await run(described(endpoint));
  expect(await shown("crm")).toMatchObject({ enabled: false, when_disabled: "shadow" });
  await run(described(endpoint), { enable: true });
  expect(await shown("crm")).toMatchObject({ enabled: true, when_disabled: "hold" });
  await patch("crm", { enabled: false });
  const again = await run(described(endpoint), { enable: true });
  expect(again.first).toMatchObject({ result: "kept", changed: [], reason: expect.stringContaining("--overwrite") });
  endpoint.description = "changed there";
  const changed = await run(described(endpoint), { enable: true });
  expect(changed.first).toMatchObject({
    result: "changed",
    changed: ["description"],
    reason: expect.stringContaining("was disabled here"),
  });
  expect(await shown("crm")).toMatchObject({ enabled: false, description: "changed there" });
  await run(described(endpoint), { enable: true, overwrite: true });
  expect((await shown("crm")).enabled).toBe(true);
});

it("an endpoint that was enabled and disabled here, without an import, stays disabled", async () => {
  const { run, patch, shown } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  await run(described(endpoint));
  await patch("crm", { enabled: true });
  endpoint.description = "changed there";
  await run(described(endpoint));
  await patch("crm", { enabled: false });
  expect((await run(described(endpoint), { enable: true })).first.result).toBe("kept");
  expect((await shown("crm")).enabled).toBe(false);
});

it("an endpoint that is enabled at once holds its events when it is disabled later", async () => {
  const { run, shown } = await begin();
  await run(described(svixEndpoint("https://a.example.com/", { uid: "crm" })), { enable: true });
  expect(await shown("crm")).toMatchObject({ enabled: true, when_disabled: "hold" });
});

it("somebody else's endpoint that appears under the uid after the plan is left alone", async () => {
  const { daemon, run, shown, secretOf } = await begin();
  const mine = { url: "https://mine.example.com/", events: ["*"], uid: "crm" };
  let secret: unknown;
  const between = async () => {
    secret = (await daemon.request("POST", "/v1/webhooks?tenant=acme", mine)).body.signing_secret;
  };
  const { first, made } = await run(described(svixEndpoint("https://a.example.com/", { uid: "crm" })), {}, { between });
  expect(first).toMatchObject({ result: "refused", reason: expect.stringContaining("did not come from there") });
  expect(made.size).toBe(0);
  expect(await shown("crm")).toMatchObject({ url: mine.url, metadata: {} });
  expect(await secretOf("crm")).toEqual({ signing_secret: secret });
});

it("the command says which endpoints it left alone while it waited, and ends with a code of its own", async () => {
  const { daemon, patch, run, shown } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  await run(described(endpoint));
  const applications = [{ id: "app_1", uid: "acme", endpoints: [{ ...endpoint, description: "changed there" }] }];
  const file = join(daemon.dir, "svix.json");
  writeFileSync(file, JSON.stringify({ applications }));
  class Waiting extends FakeIo {
    override get stdin() {
      const ask = async () => {
        await patch("crm", { url: "https://ours.example.com/" });
        return "import";
      };
      return { ...super.stdin, ask };
    }
  }
  const io = new Waiting({ isTTY: true });
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  expect(await webhookd(io, "import", "svix", "--file", file, ...target)).toBe(EXIT.partly_done);
  expect(io.out).toContain("Imported: 1 endpoint: 1 kept.");
  expect(io.err).toContain(`  ${endpoint.id} was changed here since the last import: url, description would be`);
  expect(await shown("crm")).toMatchObject({ url: "https://ours.example.com/", description: "" });
});

it("our own endpoint is accepted if the answer to its registration was lost", async () => {
  const { client, run, secretOf } = await begin();
  let puts = 0;
  const call: Client["call"] = async (operation, ask) => {
    const answer = await client.call(operation, ask);
    if (operation === "putEndpoint" && ++puts === 1) throw new ClientError("unreachable", "unreachable", "cut");
    return answer;
  };
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  const { first, made, left } = await run(described(endpoint), { enable: true }, { through: { ...client, call } });
  expect([first.result, made.size, left.size, puts]).toEqual(["added", 1, 0, 1]);
  expect(await secretOf("crm")).toEqual({ signing_secret: endpoint.secret!.key });
});

it("what somebody changes here after the plan is kept", async () => {
  const { run, patch, shown } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  await run(described(endpoint));
  endpoint.description = "changed there";
  const between = () => patch("crm", { url: "https://ours.example.com/" });
  const kept = await run(described(endpoint), {}, { between });
  expect(kept.first).toMatchObject({ result: "kept", reason: expect.stringContaining("was changed here") });
  expect(await shown("crm")).toMatchObject({ url: "https://ours.example.com/", description: "" });
  const other = () => patch("crm", { rate_per_second: 3 });
  const more = await run(described(endpoint), { overwrite: true }, { between: other });
  expect(more.first).toMatchObject({ result: "kept", reason: expect.stringContaining("rate_per_second") });
  expect(await shown("crm")).toMatchObject({ url: "https://ours.example.com/", rate_per_second: 3 });
});

it("a change between reading and writing is seen", async () => {
  const { client, run, patch, shown } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  await run(described(endpoint));
  endpoint.description = "changed there";
  let reads = 0;
  const callWithEtag: Client["callWithEtag"] = async (operation, ask) => {
    const answer = await client.callWithEtag(operation, ask);
    if (++reads === 1) await patch("crm", { url: "https://ours.example.com/" });
    return answer;
  };
  const { first } = await run(described(endpoint), {}, { through: { ...client, callWithEtag } });
  expect([first.result, reads]).toEqual(["kept", 2]);
  expect(await shown("crm")).toMatchObject({ url: "https://ours.example.com/", description: "" });
});

it("an endpoint whose URL or secret was not brought over is not enabled", async () => {
  const { run, patch, shown } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  await run(described(endpoint));
  await patch("crm", { description: "ours" });
  endpoint.secret = { key: svixSecret() };
  const { first } = await run(described(endpoint), { enable: true });
  expect(first).toMatchObject({ result: "kept", changed: [], reason: expect.stringContaining("stays disabled") });
  expect((await shown("crm")).enabled).toBe(false);
});

it("a new secret takes over at once where nothing is sent, and where the signature has room for one", async () => {
  const { run, secretOf } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  const rotated = async (enable: boolean) => {
    const before = endpoint.secret!.key;
    endpoint.secret = { key: svixSecret() };
    await run(described(endpoint), { enable });
    return { before, after: endpoint.secret.key };
  };
  await run(described(endpoint));
  const disabled = await rotated(false);
  expect(await secretOf("crm")).toEqual({ signing_secret: disabled.after });
  await run(described(endpoint), { enable: true });
  const { before, after } = await rotated(false);
  expect(await secretOf("crm")).toMatchObject({ signing_secret: before, next_signing_secret: after });

  // An advanced signature in a header of the project's own is a template, which has room for one.
  const signature = { header: "X-Shop" };
  const convoy = (value: string, isAdvanced: boolean) => {
    const one = { uid: "simple", owner_id: "acme", url: "https://b.example.com/", advanced_signatures: isAdvanced };
    const subscriptions = [{ endpoint_metadata: { uid: "simple" }, filter_config: {} }];
    const endpoints = [{ ...one, secrets: [{ value, expires_at: null }] }];
    return convoyIn({ project: { config: { signature } }, endpoints, subscriptions }, "b.json", 0);
  };
  await run(convoy("wK3mQ9vT2xR7bN5cLp8", false), { from: "convoy", enable: true });
  await run(convoy("Zx4nB6vM1qW9eR3tYu7", false), { from: "convoy" });
  expect(await secretOf("convoy:simple")).toEqual({ signing_secret: "Zx4nB6vM1qW9eR3tYu7" });
  await run(convoy("Pq8sD2fG6hJ4kL1zXc5", true), { from: "convoy" });
  expect(await secretOf("convoy:simple")).toEqual({ signing_secret: "Pq8sD2fG6hJ4kL1zXc5" });
});

it("metadata with nulls is the same in the next import", async () => {
  const { run, shown } = await begin();
  const metadata = { plan: null, more: { a: null, b: 1 }, list: [null] };
  const endpoint = svixEndpoint("https://a.example.com/", { uid: "crm" });
  const what = () => described({ ...endpoint, metadata } as unknown as Endpoint);
  await run(what());
  endpoint.description = "changed there";
  expect((await run(what())).first.result).toBe("changed");
  expect((await run(what())).first.result).toBe("unchanged");
  expect((await shown("crm")).metadata).toMatchObject({ more: { b: 1 }, list: [null] });
});

it("no section of the configuration names an endpoint that was refused", async () => {
  const { daemon, client } = await begin();
  const other = { url: "https://x.example.com/", events: ["*"], uid: "crm" };
  await daemon.request("POST", "/v1/webhooks?tenant=acme", other);
  const what = described(svixEndpoint("https://a.example.com/", { uid: "crm" }));
  const plan = await planOf(what, { from: "svix", enable: false, overwrite: false }, client);
  expect(plan.endpoints[0]!.result).toBe("refused");
  expect(signatureSections(plan, what, new Map())).toBeNull();
});

it("an imported endpoint is tested by its uid, as the steps say", async () => {
  const { daemon, run } = await begin();
  const endpoint = svixEndpoint("https://a.example.com/");
  await run(described(endpoint));
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  const test = (name: string) => webhookd(new FakeIo(), "endpoints", "test", name, "--no-wait", ...target);
  expect(await test(`svix:${endpoint.id}`)).toBe(EXIT.ok);
});
