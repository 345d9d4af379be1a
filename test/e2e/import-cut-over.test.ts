/** A tenant changes over from a Svix server while it publishes, and its receiver gets each event once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { systemClock } from "../../src/clock.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { serveSvix, svixEndpoint, SVIX_KEY, type SvixEndpoint } from "../harness/svix.ts";
import { temporaryDirectory } from "../store/stores.ts";

async function scene() {
  const daemon = await TestDaemon.start({ clock: systemClock });
  const receiver = await TestReceiver.start();
  onTestFinished(() => receiver.close());
  const one = (path: string, more: Partial<SvixEndpoint> = {}) =>
    svixEndpoint(`http://127.0.0.1:${receiver.port}/${path}`, { filterTypes: ["invoice.paid"], messages: [], ...more });
  const endpoints = [one("a"), one("b"), one("off", { disabled: true })];
  const applications = [{ id: "app_1", uid: "acme", name: "Acme", endpoints }];
  const svix = await serveSvix({ applications, eventTypes: [{ name: "invoice.paid", description: "" }] });
  const run = async (...words: string[]) => {
    const io = new FakeIo({ env: { SVIX_AUTH_TOKEN: SVIX_KEY } });
    io.now = () => Date.now();
    const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
    const code = await webhookd(io, "import", ...words, ...target);
    return { code, out: io.out, err: io.err };
  };
  const cutOver = async (...words: string[]) => {
    const done = await run("cut-over", "svix", "--tenant", "acme", ...words);
    expect(done.code).toBe(EXIT.ok);
    return done;
  };
  expect((await run("svix", "--from", svix.url, "--yes")).code).toBe(EXIT.ok);
  const publish = async (id: string, toSvix: boolean) => {
    const event = { type: "invoice.paid", tenant: "acme", publisher_id: id, data: { id } };
    expect((await daemon.request("POST", "/v1/webhooks/events", event)).status).toBe(202);
    const message = { id: `msg_${id}`, eventId: id, eventType: "invoice.paid", payload: { id } };
    const timestamp = new Date().toISOString();
    if (toSvix) for (const { messages } of endpoints) messages!.push({ ...message, timestamp });
  };
  const received = () =>
    receiver.requests.map(({ path, body }) => `${path} ${JSON.parse(body.toString()).id}`).toSorted();
  const statuses = async (id: string): Promise<string[]> => {
    const query = `tenant=acme&publisher_id=${id}&include=deliveries`;
    const [event] = (await daemon.request("GET", `/v1/webhooks/events?${query}`)).body.data;
    return event.deliveries.map(({ status }: { status: string }) => status);
  };
  return { daemon, svix, endpoints, run, cutOver, publish, received, statuses };
}

it("a cut-over holds first, and then sends what the other sender has not begun, once", async () => {
  const { daemon, svix, run, cutOver, publish, received, statuses } = await scene();
  await publish("before", true);
  const plan = await cutOver("--dry-run");
  expect(plan.out).toContain("acme has 3 endpoints from svix: 2 in shadow, 0 held, 0 enabled here, 1 disabled.\n");
  expect(plan.out).toContain("1 endpoint will stay disabled");
  expect((await cutOver("--yes")).out).toBe("2 endpoints hold their events.\n");
  expect((await cutOver("--yes")).out).toContain("There is nothing to do.\n");
  await publish("both", true);
  await publish("after", false);
  expect(received()).toEqual([]);
  const done = await cutOver("--stopped", "--from", svix.url, "--yes");
  expect(done.out).toBe("2 endpoints are enabled; 2 held deliveries were left to the other sender.\n");
  await publish("later", false);
  await daemon.daemon.idle();
  expect(received()).toEqual(["/a after", "/a later", "/b after", "/b later"]);
  expect([await statuses("before"), await statuses("both"), await statuses("after")]).toEqual([
    ["shadowed", "shadowed"],
    ["cancelled", "cancelled"],
    ["delivered", "delivered"],
  ]);
  expect((await cutOver("--stopped", "--yes")).out).toContain("There is nothing to do.\n");
  expect((await run("svix", "--from", svix.url, "--yes")).out).toBe("There is nothing to import.\n");
});

it("a cut-over takes nothing for sent that a log names from before the events were held", async () => {
  const { daemon, endpoints, cutOver, publish, received } = await scene();
  await cutOver("--yes");
  await publish("both", true);
  await publish("after", false);
  const line = (at: number, id: string) =>
    JSON.stringify({
      endpoint: endpoints[0]!.id,
      type: "invoice.paid",
      at: new Date(at).toISOString(),
      payload: { id },
    });
  const log = join(temporaryDirectory(), "sent.jsonl");
  // The other sender sent the same as "after" yesterday, and nobody gave it an id.
  writeFileSync(log, `${line(Date.now() - 86_400_000, "after")}\n${line(Date.now(), "both")}\n`);
  const done = await cutOver("--stopped", "--log", log, "--yes");
  expect(done.out).toBe("2 endpoints are enabled; 1 held delivery was left to the other sender.\n");
  await daemon.daemon.idle();
  expect(received()).toEqual(["/a after", "/b after", "/b both"]);
});

it("the way back disables here and shadows again, and a cut-over that was cut short goes on", async () => {
  const { daemon, svix, cutOver, publish, received, statuses } = await scene();
  const own = (await daemon.request("GET", "/v1/webhooks?tenant=acme&limit=100&order=oldest")).body.data;
  await daemon.request("PATCH", `/v1/webhooks/${own[0].id}`, { when_disabled: "hold" });
  const first = await cutOver("--stopped", "--from", svix.url, "--yes", "--json");
  expect(JSON.parse(first.out)).toMatchObject({
    step: "stopped",
    endpoints: [{ was: "held" }, { was: "shadow" }, { was: "disabled" }],
  });
  await publish("here", false);
  await daemon.daemon.idle();
  expect(received()).toEqual(["/a here", "/b here"]);
  expect((await cutOver("--back", "--yes")).out).toBe("2 endpoints are in shadow again.\n");
  await publish("there", true);
  await daemon.daemon.idle();
  expect(received()).toHaveLength(2);
  expect(await statuses("there")).toEqual(["shadowed", "shadowed"]);
  expect((await cutOver("--yes")).out).toBe("2 endpoints hold their events.\n");
});

it("an endpoint that somebody disabled here stays so, and two directions are refused", async () => {
  const { daemon, cutOver, run, svix } = await scene();
  await cutOver("--stopped", "--from", svix.url, "--yes");
  const [{ id }] = (await daemon.request("GET", "/v1/webhooks?tenant=acme&limit=100&order=oldest")).body.data;
  await daemon.request("PATCH", `/v1/webhooks/${id}`, { enabled: false });
  expect((await cutOver("--stopped", "--yes")).out).toContain("0 held, 1 enabled here, 2 disabled.\n");
  expect((await daemon.request("GET", `/v1/webhooks/${id}`)).body.enabled).toBe(false);
  const both = await run("cut-over", "svix", "--tenant", "acme", "--stopped", "--back", "--yes");
  expect([both.code, both.err]).toEqual([EXIT.usage, expect.stringContaining("two directions")]);
});
