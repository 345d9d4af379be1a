import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { it, MAIN, type Ended, type Machine } from "../harness/process.ts";

const DATA = '{"z":1.10, "a":12345678901234567890}';

function expectOk({ code, stdout, stderr }: Ended): string {
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** The number of other customers whose endpoints fail as badly as that of the one who asks. */
const CUSTOMERS = 10;

const firstId = (text: string) => /\b(?:ep|evt)_\w{26}/.exec(text)![0];

describe.concurrent("the nouns of the command line, on a real daemon", () => {
  it("register an endpoint, try it, publish to it, show what came of that, and take it away", async ({ machine }) => {
    const receiver = await machine.receiver();
    const daemon = await machine.serve();
    const added = await machine.webhookd("endpoints", "add", receiver.url, "--events", "budget.exceeded");
    const [secret, endpoint] = [expectOk(added).trim(), firstId(added.stderr)];
    expect(expectOk(await machine.webhookd("endpoints", "test", endpoint))).toMatch(/ {2}200 in \d+ ms {2}evt_/);
    writeFileSync(join(machine.home, "data.json"), DATA);
    const send = ["--type=budget.exceeded", "--data=@data.json", "--wait"];
    const sent = expectOk(await machine.webhookd("events", "send", ...send));
    expect(sent).toMatch(/ {2}200 in \d+ ms\nDelivered\.\n$/);
    const { body, headers } = receiver.requests[1]!;
    expect(expectOk(await machine.webhookd("events", "show", firstId(sent), "--raw"))).toBe(body.toString());
    expect(body.toString()).toContain(`"data":${DATA}}`);
    expect(verifyingKey(secret).verifyBody(body, headers["x-service-signature"]!)).toBe(true);
    expectOk(await machine.webhookd("endpoints", "disable", endpoint));
    const held = await machine.webhookd("events", "send", "--type=budget.exceeded", "--data={}", "--wait");
    expect([held.code, held.stdout]).toEqual([8, expect.stringContaining(`${endpoint}  held`)]);
    const refused = await machine.webhookd("endpoints", "rm", endpoint);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    const removed = await machine.webhookd("endpoints", "rm", endpoint, "--yes");
    expectOk(removed);
    expect(removed.stderr).toContain("1 delivery is waiting for it and will be cancelled");
    expect((await daemon.request("GET", `/v1/webhooks/${endpoint}`)).status).toBe(404);
  });

  it("attempt a delivery by hand, and show the attempt", async ({ machine }) => {
    const receiver = await machine.receiver(500);
    const daemon = await machine.serve({ settings: { RETRY_DELAYS: "1h" } });
    await daemon.register(receiver.url);
    const { deliveries } = await attempted(daemon.publish(), daemon);
    const [{ id }] = deliveries;
    const tried = expectOk(await machine.webhookd("deliveries", "attempt", id));
    expect(tried).toMatch(new RegExp(`^${id} {2}\\S+ {2}200 in \\d+ ms\n$`));
    const newest = expectOk(await machine.webhookd("attempts", "list", id, "--json", "--limit=1"));
    const [attempt] = JSON.parse(newest).data;
    expect(attempt).toMatchObject({ trigger: "manual", number: 2, outcome: "succeeded" });
    expect(expectOk(await machine.webhookd("attempts", "show", attempt.id))).toContain("2, made by hand");
  });

  it("show in three commands, without an id, why nothing reached one of many customers", async ({ machine }) => {
    const failing = await machine.receiver(...Array<number>(CUSTOMERS).fill(503));
    const acme = await machine.receiver(401);
    const daemon = await machine.serve();
    for (let n = 0; n < CUSTOMERS; n++) await daemon.register(`${failing.url}/${n}`, { description: `Customer ${n}` });
    await daemon.register(`${acme.url}/in`, { description: "ACME Corp, production" });
    await attempted(daemon.publish(), daemon);

    const why = expectOk(await machine.webhookd("failures", "--endpoint", "acme"));
    expect(why).toMatch(/\n0 +1 .+ 401 from the receiver /);
    expect(why).toMatch(/\n {2}meaning +\S[^]+\n {2}likely fault +\S[^]+\n {2}receiver +\S[^]+\n {2}customer +\S/);
    // The output suggests commands. This runs the one that shows the responses and, since ACME has fixed its receiver,
    // the one that sends everything that is waiting there.
    const line = (purpose: string) => new RegExp(`^ {2}${purpose} +webhookd (.+)$`, "m").exec(why)![1]!.split(" ");
    const seen = expectOk(await machine.webhookd(...line("see what came back")));
    expect(seen).toMatch(/^att_\S+ {2}failed {2}401 in /);
    const tried = expectOk(await machine.webhookd(...line("try waiting ones"), "--yes", "--wait"));
    expect(tried).toContain("1 delivered, 0 failed of 1.");
    expect(acme.requests.length).toBe(2);
  });

  it("end with 0 and without a word when their reader goes away", async ({ machine }) => {
    const daemon = await machine.serve();
    await daemon.register("https://example.com/hook", { enabled: false });
    const id = await daemon.publish({ text: "x".repeat(200_000) });
    const head = (words: string) => {
      const line = `{ "$0" "$1" ${words}; echo "exit $?" >&2; } | head -c 10`;
      return machine.spawn("sh", ["-c", line, process.execPath, MAIN]);
    };
    // One command has already written everything. The other continues until it finds that its reader is gone.
    const [shown, followed] = [head(`events show ${id} --raw`), head("events tail -n 0")];
    const isOver = followed.exit.then(() => true);
    while (!(await Promise.race([isOver, daemon.publish().then(() => false)])));
    await shown.exit;
    for (const { stderr, stdout } of [shown, followed]) expect([stderr, stdout.length]).toEqual(["exit 0\n", 10]);
  });
});

/** Returns the event once its first attempts are recorded. */
async function attempted(published: Promise<string>, daemon: Awaited<ReturnType<Machine["serve"]>>): Promise<any> {
  const id = await published;
  for (;;) {
    const event = await daemon.event(id);
    if (event.deliveries.every(({ last_attempt: last }: any) => last !== null)) return event;
  }
}
