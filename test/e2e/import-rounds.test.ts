/**
 * 500 endpoints of Svix come over, and the library that Svix publishes for receivers verifies each delivery, also after
 * a rotation there. The library is installed into a temporary folder; without a registry its own check is left out.
 */
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { systemClock } from "../../src/clock.ts";
import { FORMATS } from "../../src/domain/endpoints/further-signature.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { TestDaemon } from "../harness/daemon.ts";
import type { ForeignServer } from "../harness/foreign-server.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { serveSvix, svixEndpoint, svixSecret, SVIX_KEY } from "../harness/svix.ts";

const [TENANTS, ENDPOINTS, ROUNDS] = [50, 500, 20];

interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secret: string;
}

it("500 endpoints of Svix come over, and no receiver refuses any of 10,000 deliveries", async () => {
  const also = [{ name: "svix", format: FORMATS.svix, tenants: null, endpoints: null }];
  const daemon = await TestDaemon.start({ clock: systemClock, also });
  const receiver = await TestReceiver.start();
  onTestFinished(() => receiver.close());
  const applications = Array.from({ length: TENANTS }, (_, at) => ({
    id: `app_${at}`,
    uid: `tenant-${at}`,
    name: `Tenant ${at}`,
    endpoints: Array.from({ length: ENDPOINTS / TENANTS }, (__, n) =>
      svixEndpoint(`http://127.0.0.1:${receiver.port}/${at}/${n}`, { filterTypes: ["invoice.paid"] }),
    ),
  }));
  const svix = await serveSvix({ applications, eventTypes: [{ name: "invoice.paid", description: "" }] }, 100);
  const secrets = new Map<string, string[]>();
  const known = () => {
    for (const { endpoints } of applications)
      for (const { url, secret } of endpoints) {
        const path = new URL(url).pathname;
        secrets.set(path, [...new Set([...(secrets.get(path) ?? []), secret!.key])]);
      }
  };
  known();

  const first = await imported(daemon, svix, ["--yes", "--enable"]);
  expect(first.out).toBe("Imported: 500 endpoints: 500 added; 1 event type: 1 added.\n");
  const again = await imported(daemon, svix, ["--yes", "--enable"]);
  expect(again.out).toBe("There is nothing to import.\n");
  process.stderr.write(`import of ${ENDPOINTS}: ${first.ms} ms; the second time: ${again.ms} ms\n`);

  const deliveries: Delivery[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    if (round === ROUNDS / 2) {
      // Half of the endpoints get another secret there. Receivers may go on with either.
      for (const { endpoints } of applications.slice(0, TENANTS / 2))
        for (const endpoint of endpoints) endpoint.secret = { key: svixSecret() };
      known();
      expect((await imported(daemon, svix, ["--yes"])).out).toContain("500 endpoints: 250 changed, 250 unchanged");
    }
    const all = [...Array(TENANTS).keys()].map((at) => ({
      type: "invoice.paid",
      tenant: `tenant-${at}`,
      data: { round },
    }));
    expect((await daemon.request("POST", "/v1/webhooks/events/batch", { events: all })).status).toBe(202);
    while (receiver.requests.length < ENDPOINTS) await receiver.next();
    for (const { headers, body, path } of receiver.requests.splice(0))
      for (const secret of secrets.get(path)!) deliveries.push({ headers, body: body.toString(), secret });
  }
  expect(deliveries.length).toBe(ENDPOINTS * ROUNDS + (250 * ROUNDS) / 2);
  expect(deliveries.filter((one) => !verifies(one))).toEqual([]);
  expect(library(deliveries)).toBe(0);
}, 300_000);

async function imported(daemon: TestDaemon, svix: ForeignServer, words: readonly string[]) {
  const io = new FakeIo({ env: { SVIX_AUTH_TOKEN: SVIX_KEY } });
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  const from = performance.now();
  const code = await webhookd(io, "import", "svix", "--from", svix.url, ...words, ...target);
  expect({ code, err: code === EXIT.ok ? "" : io.err }).toEqual({ code: EXIT.ok, err: "" });
  return { out: io.out, ms: Math.round(performance.now() - from) };
}

function verifies({ headers, body, secret }: Delivery): boolean {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = `${headers["svix-id"]}.${headers["svix-timestamp"]}.${body}`;
  const expected = createHmac("sha256", key).update(signed).digest("base64");
  return headers["svix-signature"]!.split(" ").includes(`v1,${expected}`);
}

/** Returns the number of deliveries that Svix's library refuses, or 0 if it cannot be installed here. */
function library(deliveries: readonly Delivery[]): number {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-svix-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const program = `
import { readFileSync } from "node:fs";
import { Webhook } from "svix";
const refused = JSON.parse(readFileSync(0, "utf8")).filter(({ headers, body, secret }) => {
  try { new Webhook(secret).verify(body, headers); return false; } catch { return true; }
});
console.log(refused.length);`;
  writeFileSync(join(dir, "program.mjs"), program);
  try {
    const words = ["install", "--silent", "--prefix", dir, "svix@2.5.0"];
    execFileSync("npm", words, { stdio: ["ignore", "ignore", "pipe"], timeout: 50_000, cwd: dir });
  } catch (error) {
    process.stderr.write(`SKIPPED: svix cannot be installed here: ${String(error).split("\n")[0]}\n`);
    return 0;
  }
  const input = JSON.stringify(deliveries);
  return Number(execFileSync(process.execPath, [join(dir, "program.mjs")], { input, encoding: "utf8" }));
}
