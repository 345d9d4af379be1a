/**
 * Renders the chart with Helm, checks the result with kubernetes-validate, and runs what the pods and the compose files
 * run, as processes. To install the two programs:
 * `go install helm.sh/helm/v3/cmd/helm@v3.16.4` and `pip install kubernetes-validate==1.31.0`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll, load } from "js-yaml";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { withoutSecrets } from "../../src/config/inputs.ts";
import { aDirectory } from "../harness/daemon.ts";
import { Link } from "../harness/link.ts";
import { startServer } from "../harness/postgres.ts";
import { DaemonProcess, it, MAIN, type Machine } from "../harness/process.ts";
import { createDatabase } from "../store/stores.ts";
import { inputs } from "../config/inputs.ts";

const CHART = join(import.meta.dirname, "../../scripts/deploy/chart");
const hasHelm = spawnSync("helm", ["version"]).status === 0;
const hasValidate = spawnSync("kubernetes-validate", ["--help"]).status === 0;
if (!hasHelm) console.warn("SKIPPED: helm is not installed, so the chart is not rendered here");
if (!hasValidate) console.warn("SKIPPED: kubernetes-validate is not installed, so no manifest is validated here");
const server = hasHelm ? await startServer() : null;
afterAll(() => server?.stop());

function render(values: object) {
  const file = join(aDirectory(), "values.yaml");
  writeFileSync(file, JSON.stringify(values));
  const words = ["template", "webhookd", CHART, "--namespace", "hooks", "--kube-version", "1.31.0", "--values", file];
  const { stdout, stderr, status } = spawnSync("helm", words, { encoding: "utf8" });
  return { text: stdout, stderr, status };
}

const STORE = { "data.store": { name: "hooks", key: "store" } };
const NODES = { nodes: 2, secrets: STORE, secretKey: { name: "hooks", key: "secret.key" } };
const VALUES: Readonly<Record<string, object>> = {
  defaults: {},
  nodes: NODES,
  "fifteen nodes": { ...NODES, nodes: 15 },
  "one node with PostgreSQL": { secrets: STORE },
  "alerts by secrets": {
    secrets: { "alerts.slack_url": { name: "hooks", key: "chat" }, "alerts.secret": { name: "hooks", key: "signs" } },
    settings: { alerts: { key_held_after: "5m" } },
  },
  "receivers in the cluster": {
    settings: {
      egress: {
        allow_http: true,
        ports: ["443", "3000"],
        allow_cidrs: ["10.9.0.0/16", "fd00:9::/64"],
        deny_cidrs: ["8.8.0.0/16", "2600::/16"],
        allow_hosts: ["*.svc.cluster.local"],
      },
    },
    networkPolicy: {
      from: [{ podSelector: { matchLabels: { app: "shop" } } }],
      moreEgress: [{ to: [{ podSelector: {} }], ports: [{ port: 5432 }] }],
    },
  },
  "no IPv6": { settings: { egress: { deny_cidrs: ["::/0", "8.8.0.0/16"] } } },
  "any port": { settings: { egress: { ports: ["any"] } } },
  "a service monitor": { serviceMonitor: { enabled: true, interval: "15s", key: { name: "hooks", key: "metrics" } } },
  "many settings": {
    settings: {
      retry: { timeout: "5s", delays: ["1s", "2m"], max_retry_after: "1h" },
      limits: { max_pending_per_tenant: 1_000_000 },
      log: { level: "warn" },
      server: { docs: "key", rate_limit: 50, trusted_proxies: ["10.0.0.0/8"] },
    },
    moreSettings: '[tenants.acme]\nweight = 2\n[[event_types]]\nname = "order.created"\n',
    hosts: ["hooks.example.com"],
  },
  "a place of its own": {
    image: { repository: "registry.example.com/webhookd", tag: "0.1.1", pullSecrets: [{ name: "registry" }] },
    persistence: { size: "100Gi", storageClass: "fast" },
    networkPolicy: { enabled: false },
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "hooks", operator: "Exists" }],
    podAnnotations: { team: "hooks" },
    resources: { limits: { cpu: "2", memory: "1Gi" } },
  },
};

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly [Container] } } };
}
interface Container {
  readonly args: readonly string[];
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}
interface Probe {
  readonly httpGet: { readonly path: string };
}

const manifestsOf = (text: string) => (loadAll(text) as (Manifest | null)[]).filter((one) => one !== null);
const settingsOf = (text: string) =>
  manifestsOf(text).find(({ kind }) => kind === "ConfigMap")!.data!["webhookd.toml"]!;
const containerOf = (text: string) =>
  manifestsOf(text).find(({ spec }) => spec?.template !== undefined)!.spec!.template!.spec.containers[0];

describe.skipIf(!hasHelm)("the chart", () => {
  it.for(Object.keys(VALUES))("with %s renders manifests that Kubernetes takes, and settings that hold", (name) => {
    const { text, stderr, status } = render(VALUES[name]!);
    expect([status, stderr]).toEqual([0, ""]);
    const files = { "/etc/webhookd/webhookd.toml": settingsOf(text) };
    const config = loadConfig(withoutSecrets(inputs({ files, flags: { config: "/etc/webhookd/webhookd.toml" } })));
    expect(config.server.allowedHosts).toContain("webhookd.hooks.svc.cluster.local");
    if (name === "many settings") {
      expect(config).toMatchObject({ retry: { timeout: 5000, delays: [1000, 120_000] }, server: { rateLimit: 50 } });
      expect([config.limits.maxPendingPerTenant, config.tenants.get("acme")?.weight]).toEqual([1_000_000, 2]);
    }
    // Kubernetes refuses an exception that is the whole network.
    for (const [, cidr, except] of text.matchAll(/cidr: (\S+)\n\s+except:\n((?:\s+- \S+\n)+)/g))
      expect(except!.replaceAll(/[\s"]+-?/g, " ").split(" ")).not.toContain(cidr);
    if (!hasValidate) return;
    const file = join(aDirectory(), "manifests.yaml");
    writeFileSync(file, text);
    for (const version of ["1.30.0", "1.31.0"]) {
      const checked = spawnSync("kubernetes-validate", ["--strict", "-k", version, file], { encoding: "utf8" });
      expect(checked.status, checked.stdout + checked.stderr).toBe(0);
    }
  });

  it.for([
    ["a misspelt setting", { settings: { retry: { timeot: "5s" } } }, "timeot"],
    ["a secret among the settings", { settings: { data: { store: "postgres://a:b@c/d" } } }, "store"],
    ["so many nodes that a rollout has no room", { ...NODES, nodes: 16 }, "nodes"],
    ["an empty reference to a secret", { secrets: { "data.store": {} } }, "name"],
    ["nodes without PostgreSQL", { nodes: 2 }, "Several nodes share PostgreSQL"],
    ["nodes without a secret.key", { nodes: 2, secrets: STORE }, "need the same secret.key"],
    ["a secret without its key", { secrets: { "data.store": { name: "hooks" } } }, "key"],
  ] as const)("refuses %s", ([, values, message]) => {
    const { status, stderr } = render(values);
    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  it.for(["one-node", "nodes"])(
    "printed as manifests/%s.yaml is what it renders (vitest -u writes it)",
    async (name) => {
      const { text } = render(name === "nodes" ? NODES : {});
      await expect(text).toMatchFileSnapshot(`../../scripts/deploy/manifests/${name}.yaml`);
    },
  );
});

/** Runs a pod's command, with its folders under `dir`, and a free port. */
async function pod(machine: Machine, text: string, dir: string, first = dir): Promise<DaemonProcess> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, "webhookd.toml");
  const toml = settingsOf(text)
    .replaceAll("/home/nonroot/data", dir)
    .replaceAll("/run/secrets/webhookd", machine.home)
    .replace("0.0.0.0:8420", "127.0.0.1:0");
  writeFileSync(file, toml);
  const { args } = containerOf(text);
  expect(args).toEqual(["serve", "--config", "/etc/webhookd/webhookd.toml"]);
  // The pod's own variable.
  const words = [MAIN, "serve", "--config", file];
  const process = machine.spawn(globalThis.process.execPath, words, { settings: { DATA_DIR: dir } });
  const { url } = await process.json(({ msg }) => msg === "listening");
  return new DaemonProcess(process, String(url), first);
}

/** Returns the status of each probe. */
async function probe({ url }: DaemonProcess, text: string) {
  const { startupProbe, readinessProbe, livenessProbe } = containerOf(text);
  const status = async ({ httpGet }: Probe) => (await fetch(new URL(httpGet.path, url))).status;
  return {
    starts: await status(startupProbe),
    ready: await status(readinessProbe),
    lives: await status(livenessProbe),
  };
}

const WELL = { starts: 200, ready: 200, lives: 200 };

describe.skipIf(!hasHelm)("a pod", () => {
  it("of one node is ready, and gets no requests while it drains", async ({ machine }) => {
    const { text } = render({
      settings: { egress: { allow_http: true, ports: ["any"], allow_cidrs: ["127.0.0.1/32"], allow_ip_hosts: true } },
    });
    const daemon = await pod(machine, text, join(machine.home, "data"));
    expect(await probe(daemon, text)).toEqual(WELL);
    const answered = Promise.withResolvers<void>();
    const receiver = await machine.receiver({ until: answered.promise });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    await receiver.next();
    await daemon.beginStop();
    expect(await probe(daemon, text)).toEqual({ ...WELL, ready: 503 });
    answered.resolve();
    expect(await daemon.process.exit).toBe(0);
    expect(id).toMatch(/^evt_/);
  });

  it.skipIf(server === null)(
    "of two nodes gets no requests while it is cut off, and is not restarted",
    async ({ machine }) => {
      const { text } = render(NODES);
      const direct = new URL(server!.urlOf(await createDatabase(server!)));
      const link = await Link.to(Number(direct.port));
      onTestFinished(() => link.close());
      const address = `postgres://test@127.0.0.1:${link.port}${direct.pathname}`;
      writeFileSync(join(machine.home, "data.store"), `${address}\n`, { mode: 0o600 });
      writeFileSync(join(machine.home, "secret.key"), "0b".repeat(32), { mode: 0o600 });
      const first = join(machine.home, "0");
      const nodes = [await pod(machine, text, first), await pod(machine, text, join(machine.home, "1"), first)];
      for (const node of nodes) expect(await probe(node, text)).toEqual(WELL);
      link.silence();
      for (const node of nodes)
        await expect.poll(() => probe(node, text), { timeout: 20_000 }).toEqual({ ...WELL, ready: 503 });
      link.resume();
      for (const node of nodes) await expect.poll(() => probe(node, text), { timeout: 20_000 }).toEqual(WELL);
      for (const node of nodes) expect(await node.stop()).toBe(0);
    },
  );
});

describe("compose/compose.yaml", () => {
  it("runs a daemon that takes an event", async ({ machine }) => {
    const file = join(CHART, "../compose/compose.yaml");
    const { services } = load(readFileSync(file, "utf8")) as { services: { webhookd: object } };
    expect(services.webhookd).not.toHaveProperty("command");
    const env = { WEBHOOKD_SERVER_BEHIND_PROXY: "true", WEBHOOKD_DATA_DIR: machine.dir };
    const process = machine.spawn(globalThis.process.execPath, [MAIN, "serve", "--listen", "0.0.0.0:0"], { env });
    const { url } = await process.json(({ msg }) => msg === "listening");
    const daemon = new DaemonProcess(process, String(url).replace("0.0.0.0", "127.0.0.1"), machine.dir);
    expect(await daemon.publish()).toMatch(/^evt_/);
    expect(await daemon.stop()).toBe(0);
  });
});
