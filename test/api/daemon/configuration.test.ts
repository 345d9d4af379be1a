import { expect, it } from "vitest";
import { DEFAULTS, nameOf, SETTINGS } from "../../../src/config/schema.ts";
import { Reloaded } from "../../../src/daemon/reloaded.ts";
import { ManualClock } from "../../harness/clock.ts";
import { aConfig, ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const FILE = `
[alerts]
url = "https://hooks.example.com/services/sesame"
[tenants.acme]
weight = 2
max_pending = 7
`;
const config = aConfig({}, "/var/lib/webhookd", FILE);
const reloaded = new Reloaded(config, new ManualClock());
const api = await ApiServer.start(await aStore(), { config, running: reloaded.running });

it("GET /v1/config says what the daemon uses, as the last SIGHUP left it, and nothing that gives access", async () => {
  const { status, body, text } = await api.get("/v1/config");
  expect(status).toBe(200);
  expect(Object.keys(body.settings)).toEqual(SETTINGS.map(nameOf));
  expect(body.settings).toMatchObject({ "retry.timeout": "10s", "data.dir": config.data.dir });
  expect(DEFAULTS["data.dir"]).toBe("");
  expect(body.settings["alerts.url"]).toBe("https://hooks.example.com/…");
  expect(text).not.toContain("sesame");
  expect(body.tenants).toEqual({ acme: { weight: 2, rate_per_second: null, max_pending: 7 } });
  reloaded.use(aConfig({ RETRY_TIMEOUT: "5s" }));
  expect((await api.get("/v1/config")).body).toMatchObject({ settings: { "retry.timeout": "5s" }, tenants: {} });
});

it("GET /v1/config is for the tenant * alone", async () => {
  const key = await api.addKey(["admin"], "acme");
  expect((await api.get("/v1/config", { key })).status).toBe(403);
});
