/** Tests the deploy kit with nothing but its files. `test/package/chart.test.ts` renders and runs it. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { withoutSecrets } from "../../src/config/inputs.ts";
import { DEFAULTS, nameOf, SETTINGS, writeSetting } from "../../src/config/schema.ts";
import { NODES } from "../../src/store/postgres/engine/engine.ts";
import { AddressPolicy } from "../../src/domain/network/address.ts";
import { SET_BY_CHART, valuesSchema } from "../../scripts/deploy/values-schema.ts";
import { inputs } from "../config/inputs.ts";

const KIT = new URL("../../scripts/deploy/", import.meta.url);
const read = (file: string) => readFileSync(new URL(file, KIT), "utf8");
const SETTINGS_TEMPLATE = read("chart/templates/_names.tpl");

describe("the chart", () => {
  it("has a schema of its values that is made from the settings (vitest -u writes it)", async () => {
    const text = `${JSON.stringify(valuesSchema(), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot("../../scripts/deploy/chart/values.schema.json");
  });

  it("sets what it takes out of the schema, or leaves it at its default", () => {
    const left = ["server.socket", "data.standby"];
    for (const name of SET_BY_CHART.filter((one) => !left.includes(one))) {
      expect(SETTINGS_TEMPLATE).toContain(`"${name.split(".")[1]!}"`);
    }
  });

  it("lets pods go only where webhookd's own egress guard lets deliveries go", () => {
    const template = read("chart/templates/network.yaml");
    const lists = template.match(/range list .*/g)!.join("\n");
    const refused = [...lists.matchAll(/"([0-9a-f:.]+)\/\d+"/g)].map(([, address]) => address!);
    expect(refused).toHaveLength(13);
    const none = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: false, ownPort: 8420 };
    const policy = new AddressPolicy(none, () => []);
    for (const ip of refused) expect(policy.check({ ip, port: 443, tenant: "default" }), ip).not.toBeNull();
    const port = SETTINGS.find((setting) => nameOf(setting) === "egress.ports")!;
    const ports = JSON.parse(writeSetting(port, DEFAULTS["egress.ports"])) as string[];
    expect(template).toContain(`(list ${ports.map((one) => `"${one}"`).join(" ")})`);
  });

  it("leaves room for the pod that a rollout starts first", () => {
    const { properties } = valuesSchema() as { properties: { nodes: { maximum: number } } };
    const surge = Number(/maxSurge: (\d+)/.exec(read("chart/templates/workload.yaml"))![1]);
    expect(properties.nodes.maximum + surge).toBe(NODES);
  });

  it("gives a pod the time that a stop takes", () => {
    const serve = readFileSync(new URL("../../cli/daemon/serve.ts", import.meta.url), "utf8");
    const drain = Number(/DRAIN_MS = ([\d_]+)/.exec(serve)![1]!.replaceAll("_", "")) / 1000;
    const [grace, sleep] = [/terminationGracePeriodSeconds: (\d+)/, /sleep: \{ seconds: (\d+)/].map((number) =>
      Number(number.exec(SETTINGS_TEMPLATE)![1]),
    );
    expect(grace).toBeGreaterThanOrEqual(sleep! + drain + 5);
  });
});

/** This parser leaves YAML's merge key as it stands. */
function composeOf(file: string): Compose {
  const compose = load(read(file)) as Compose;
  const services = Object.entries(compose.services).map(([name, { "<<": shared, ...own }]) => [
    name,
    { ...shared, ...own },
  ]);
  return { ...compose, services: Object.fromEntries(services) as Compose["services"] };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets?: object;
  readonly volumes?: object;
  readonly networks?: Readonly<Record<string, { readonly ipam?: { readonly config: readonly [{ subnet: string }] } }>>;
}
interface Service {
  readonly "<<"?: Service;
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
}

describe.each(["compose/compose.yaml", "compose/nodes.yaml"])("%s", (file) => {
  const compose = composeOf(file);
  const services = Object.entries(compose.services);
  const ours = services.filter(([, { image }]) => image === "webhookd");

  it("names only volumes and secrets that it has", () => {
    const volumes = services.flatMap(([, service]) => service.volumes ?? []).map((volume) => volume.split(":")[0]!);
    const named = volumes.filter((volume) => !volume.startsWith("."));
    expect(Object.keys(compose.volumes ?? {}).toSorted()).toEqual(named.toSorted());
    const secrets = new Set(services.flatMap(([, service]) => service.secrets ?? []));
    expect(Object.keys(compose.secrets ?? {}).toSorted()).toEqual([...secrets].toSorted());
  });

  it("runs webhookd with settings that hold, without rights, and with time to stop", () => {
    expect(ours.length).toBeGreaterThan(0);
    for (const [, service] of ours) {
      const env = Object.fromEntries(
        Object.entries({ ...imageEnv(), ...service.environment }).map(([name, text]) => [
          name,
          text.replace(/^\$\{.*\}$/, "a.example"),
        ]),
      );
      const { data, server } = loadConfig(withoutSecrets(inputs({ env, home: "/home/nonroot" })));
      expect(service.volumes?.some((volume) => volume.endsWith(`:${data.dir}`))).toBe(true);
      expect(server.listen.port).toBe(8420);
      expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], stop_grace_period: "30s" });
      for (const path of Object.values(env).filter((text) => text.startsWith("/run/secrets/"))) {
        expect(service.secrets).toContain(path.slice("/run/secrets/".length));
      }
    }
  });
});

it("Caddy sends requests to every node, and asks the route that says whether events are accepted", () => {
  const { services } = composeOf("compose/nodes.yaml");
  const nodes = Object.keys(services).filter((name) => services[name]!.image === "webhookd");
  const caddy = read("compose/Caddyfile");
  expect(nodes).toHaveLength(2);
  expect(caddy).toContain(`reverse_proxy ${nodes.map((name) => `${name}:8420`).join(" ")} {`);
  expect(caddy).toContain("health_uri /readyz\n");
});

it("Caddy reaches the nodes only from the addresses whose X-Forwarded-For they believe", () => {
  const { services, networks } = composeOf("compose/nodes.yaml");
  const { networks: own = [], environment } = services["node-1"]!;
  const shared = own.filter((name) => services["caddy"]!.networks!.includes(name));
  expect(shared.map((name) => networks![name]!.ipam?.config[0].subnet)).toEqual([
    environment!["WEBHOOKD_SERVER_TRUSTED_PROXIES"],
  ]);
});

/** The image sets these variables. */
function imageEnv(): Record<string, string> {
  const dockerfile = readFileSync(new URL("../../Dockerfile", import.meta.url), "utf8").replaceAll("\\\n", " ");
  const lines = [...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap(([, rest]) => rest!.trim().split(/\s+/));
  return Object.fromEntries(lines.map((pair) => pair.split(/=(.*)/s).slice(0, 2))) as Record<string, string>;
}
