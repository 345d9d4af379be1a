import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { bundle, type Bundle } from "../../scripts/build.ts";
import { compiled, DASHBOARD, START } from "../../src/bundle.ts";
import { it as machineIt } from "../harness/process.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { caFile } from "../harness/tls.ts";

/** The only command that may draw screens. */
const DRAWS = "cli/tui/tui.ts";
/** Modules that no command may wait for: the daemon, and all packages except the one that defines commands. */
const LATER = /^(src\/(daemon|api|delivery|store)|tui)\b|node_modules\/(?!citty\/)/;
const SCREEN = /node_modules\/(ink|react|react-reconciler|yoga-layout)\//;

let made: Bundle;
beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), "webhookd-bundle-"));
  made = await bundle(`${process.platform}-${process.arch}`, directory);
});
afterAll(() => rmSync(made.directory, { recursive: true, force: true }));

/** Returns the sources that importing `source` loads. With `lazy`, also those that it may load later. */
function sourcesOf(source: string, lazy: boolean, seen = new Set<string>()): Set<string> {
  if (seen.has(source)) return seen;
  seen.add(source);
  for (const { path, kind, external } of made.scripts.program.inputs[source]!.imports) {
    if (!external && (kind !== "dynamic-import" || lazy)) sourcesOf(path, lazy, seen);
  }
  return seen;
}

const matches = (sources: Set<string>, what: RegExp) => [...sources].filter((source) => what.test(source));

describe("the bundle", () => {
  machineIt("trusts the authorities of its configuration, and none that the environment adds", async ({ machine }) => {
    const program: [string, string] = [process.execPath, join(made.directory, START)];
    const receiver = await TestReceiver.start([], { tls: true });
    const outcome = async (dir: string, settings: Record<string, string>) => {
      const env = { NODE_EXTRA_CA_CERTS: caFile };
      const daemon = await machine.serve({ program, env, settings, dir: join(machine.home, dir) });
      const url = `https://localhost:${receiver.port}/`;
      const endpoint = await daemon.request("POST", "/v1/webhooks", { url, events: ["goal.achieved"] });
      await daemon.request("POST", "/v1/webhooks/events", { type: "goal.achieved", data: {} });
      const attempt = await daemon.process.json(({ msg }) => msg === "delivery.attempted");
      expect(endpoint.status).toBe(201);
      expect(await daemon.stop()).toBe(0);
      return attempt["error"] ?? attempt["outcome"];
    };
    try {
      expect(await outcome("one", {})).toBe("tls_error");
      expect(receiver.requests.length).toBe(0);
      expect(await outcome("two", { EGRESS_CA_FILE: caFile, LOG_LEVEL: "debug" })).toBe("succeeded");
    } finally {
      await receiver.close();
    }
  });

  machineIt.runIf(process.platform === "linux")(
    "takes its second addon out of itself when somebody first changes something over the socket",
    async ({ machine }) => {
      const daemon = await machine.serve({ program: [process.execPath, join(made.directory, START)] });
      const addons = () => readdirSync(join(daemon.dir, ".native")).map((name) => name.split("-")[0]);
      const socketPath = join(daemon.dir, "webhookd.sock");
      const call = async (method: string, path: string) => {
        const [response] = await once(request({ socketPath, method, path }).end(), "response");
        return (await json(response)) as { data: object[] };
      };
      await call("GET", "/v1/status");
      expect(addons()).toEqual(["sqlite"]);
      await call("POST", "/v1/resume");
      expect(addons().toSorted()).toEqual(["koffi", "sqlite"]);
      const { uid, username: user } = userInfo();
      expect((await call("GET", "/v1/audit")).data).toEqual([expect.objectContaining({ actor: "socket", uid, user })]);
      expect(await daemon.stop()).toBe(0);
    },
  );

  machineIt("has the portal in it, within 200 KiB as browsers take it", async ({ machine }) => {
    const daemon = await machine.serve({ program: [process.execPath, join(made.directory, START)] });
    const html = await (await fetch(new URL("/portal", daemon.url))).text();
    const parts = [...html.matchAll(/portal\/[\w.]+/g)].map(([path]) => `/${path}`);
    expect(parts.map((path) => path.replace(/.*\./, "")).toSorted()).toEqual(["css", "js", "svg"]);
    for (const path of parts) {
      const response = await fetch(new URL(path, daemon.url));
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
      expect((await response.text()).length).toBeGreaterThan(100);
    }
    const compressed = readdirSync(made.directory).filter((file) => file.endsWith(".br"));
    const isLanguage = (file: string) => /^(?:german|french|spanish|japanese)\./.test(file);
    const sizes = (files: readonly string[]) => files.map((file) => statSync(join(made.directory, file)).size);
    const languages = sizes(compressed.filter(isLanguage));
    expect(languages.length).toBe(4);
    const page = sizes(compressed.filter((file) => !isLanguage(file))).reduce((sum, size) => sum + size, 0);
    expect(page + Math.max(...languages)).toBeLessThanOrEqual(200 * 1024);
    expect(await daemon.stop()).toBe(0);
  });

  it("runs alone, with an empty environment", async () => {
    const run = promisify(execFile)(process.execPath, [join(made.directory, START), "--version"], {
      cwd: tmpdir(),
      env: {},
    });
    expect((await run).stdout).toBe(`webhookd ${made.version}\n`);
  });

  it("reads YAML, which only one command does", async () => {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-yaml-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    writeFileSync(join(dir, "api.yaml"), "openapi: 3.1.0\nopenapi: 3.1.0\n");
    const words = [join(made.directory, START), "types", "import", "api.yaml", "--dry-run"];
    const run = promisify(execFile)(process.execPath, words, { cwd: dir, env: {} });
    await expect(run).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("api.yaml:2:1: duplicated mapping key"),
    });
    const others = [made.scripts.program, made.scripts.parts].flatMap(({ inputs }) => Object.keys(inputs));
    expect(matches(new Set(others), /node_modules\/js-yaml\/|^cli\/types\/document\//)).toEqual([]);
  });

  it("reads nothing of the modules of Node that are slow to read as a whole, until something needs them", () => {
    const imports = Object.values(made.scripts.program.inputs).flatMap((input) => input.imports);
    const slow = /^(node:)?(https?|http2|tls|util|fs|crypto)$/;
    expect(imports.filter(({ kind, path }) => kind === "import-statement" && slow.test(path))).toEqual([]);
  });

  it("was compiled, and V8 takes the code for the source that it came from", () => {
    for (const name of ["program", "parts"] as const)
      expect(compiled(name, made.directory).cachedDataRejected, name).toBe(false);
  });

  machineIt("loads the packages that few daemons need when something needs them", async ({ machine }) => {
    expect(
      matches(
        new Set(Object.keys(made.scripts.parts.inputs)),
        /node_modules\/(ajv|nodemailer|pg|prom-client|@opentelemetry)\/|^src\/telemetry\//,
      ),
    ).toEqual([]);
    expect(
      matches(
        new Set(Object.keys(made.scripts.rare.inputs)),
        /node_modules\/(pg|prom-client)\/lib\/(client|registry)\.|^src\/telemetry\/traces\./,
      ),
    ).toHaveLength(3);
    const collector = await machine.receiver();
    const settings = { METRICS_PUBLIC: "true", TELEMETRY_OTLP: new URL(collector.url).origin };
    const daemon = await machine.serve({ program: [process.execPath, join(made.directory, START)], settings });
    const metrics = await (await fetch(new URL("/metrics", daemon.url))).text();
    expect(metrics).toContain("webhookd_paused 0");
    await daemon.request("POST", "/v1/webhooks/events", { type: "goal.achieved", data: {} });
    expect(await daemon.stop()).toBe(0);
    expect(collector.requests.map(({ path }) => path)).toEqual(["/v1/traces"]);
  });

  it("leaves room for Node in an executable of 115 MB", () => {
    // The stripped Node and what the packer adds take less than 108.87 MB.
    expect(made.size).toBeLessThan(115e6 - 108.87e6);
  });

  it("loads neither the daemon nor a package before it knows the command", () => {
    const loaded = sourcesOf("cli/main.ts", false);
    sourcesOf("cli/daemon/version.ts", true, loaded);
    expect(loaded).toContain("cli/front/dispatch.ts");
    expect(matches(loaded, LATER)).toEqual([]);
  });

  it("never loads a screen for a command that draws none", () => {
    const { imports } = made.scripts.program.inputs["cli/commands.ts"]!;
    const commands = new Set(imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => path));
    expect(commands.size).toBeGreaterThan(30);
    // Completions load the definition of every command, so the dashboard's definition must not load screens.
    expect(matches(sourcesOf(DRAWS, false), SCREEN)).toEqual([]);
    expect([...sourcesOf(DRAWS, true)]).toContain(`compiled:${DASHBOARD}`);
    const dashboard = new Set(Object.keys(made.scripts.dashboard.inputs));
    expect(matches(dashboard, SCREEN)).not.toEqual([]);
    // The program gives it a client. A second copy of the client would have other classes of errors.
    expect(matches(dashboard, /^(cli|src\/client\/(client|exchange|stream))\b/)).toEqual([]);
    expect(matches(new Set(Object.keys(made.scripts.program.inputs)), SCREEN)).toEqual([]);
    for (const command of commands) {
      if (command === DRAWS) continue;
      expect(matches(sourcesOf(command, true, new Set([DRAWS])), SCREEN), command).toEqual([]);
    }
    // The daemon is in a separate script.
    const parts = new Set(Object.keys(made.scripts.parts.inputs));
    expect(matches(parts, SCREEN)).toEqual([]);
    expect(matches(parts, /node_modules\/(h3|better-sqlite3)\//)).not.toEqual([]);
    expect(sourcesOf("cli/daemon/serve.ts", true)).toContain("compiled:src/daemon.ts");
  });

  it("gives the threads no screen either", () => {
    const sources = new Set(made.threads.flatMap(({ inputs }) => Object.keys(inputs)));
    expect(matches(sources, SCREEN)).toEqual([]);
    const llhttp = "node_modules/undici/lib/llhttp/llhttp-wasm.js";
    expect(matches(sources, /node_modules\/undici\//)).toEqual([llhttp]);
    // The module is inlined as bytes. As a module it would export a Buffer that has a getter.
    for (const { inputs } of [made.scripts.parts, ...made.threads])
      expect(inputs[llhttp]?.format ?? "bytes").toBe("bytes");
  });
});
