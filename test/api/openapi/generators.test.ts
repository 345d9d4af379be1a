/**
 * Validators and generators of others read the description, and generated clients publish and replay. They are
 * installed into a temporary folder, so this needs the registries; what cannot be installed here is skipped.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FakeStore } from "../fake-store.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const scratch = mkdtempSync(join(tmpdir(), "webhookd-generators-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const { text } = await (await ApiServer.start(new FakeStore().asStore())).get("/openapi.json");
const FILE = join(scratch, "openapi.json");
writeFileSync(FILE, text);

interface Ran {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function run(dir: string, file: string, args: readonly string[], timeout = 50_000): Promise<Ran> {
  const env = { ...process.env, PATH: `${join(dir, "bin")}:${process.env.PATH}` };
  return new Promise((resolve) =>
    execFile(file, args, { cwd: dir, timeout, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ ok: error === null, stdout, stderr: stderr || String(error ?? "") }),
    ),
  );
}

/** Returns the folder with the installed packages, or null, with a message, if they cannot be installed. */
async function installed(name: string, install: (dir: string) => Promise<Ran>): Promise<string | null> {
  const dir = join(scratch, name);
  if (existsSync(dir)) return dir;
  mkdirSync(dir);
  const { ok, stderr } = await install(dir);
  if (ok) return dir;
  rmSync(dir, { recursive: true });
  process.stderr.write(`SKIPPED: ${name} cannot be installed here: ${stderr.trim().split("\n").at(-1)}\n`);
  return null;
}

const npm = (name: string, ...packages: string[]) =>
  installed(name, (dir) =>
    run(dir, "npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, ...packages]),
  );

const pip = (name: string, ...packages: string[]) =>
  installed(name, async (dir) => {
    const made = await run(dir, "python3", ["-m", "venv", dir]);
    return made.ok ? run(dir, join(dir, "bin/pip"), ["install", "--quiet", "--no-compile", ...packages]) : made;
  });

const PYTHON_CLIENT = ["openapi-python-client", "openapi-python-client==0.29.1"] as const;
const TYPESCRIPT = [
  "openapi-typescript",
  "openapi-typescript@7.13.0",
  "openapi-fetch@0.14.1",
  "typescript@5.9.3",
] as const;

describe("the description", () => {
  it("satisfies the rules of Redocly", async () => {
    const dir = await npm("redocly", "@redocly/cli@2.77.0");
    if (dir === null) return;
    // The specification gives these paths, such as /v1/webhooks/{id} beside /v1/webhooks/events. A literal one wins.
    writeFileSync(join(dir, "redocly.yaml"), "extends: [recommended]\nrules: { no-ambiguous-paths: off }\n");
    const { stdout } = await run(dir, join(dir, "node_modules/.bin/redocly"), ["lint", FILE, "--format=json"]);
    expect(JSON.parse(stdout.slice(stdout.indexOf("{"))).problems).toEqual([]);
  });

  it("satisfies the rules of Spectral", async () => {
    const dir = await npm("spectral", "@stoplight/spectral-cli@6.16.3");
    if (dir === null) return;
    writeFileSync(join(dir, ".spectral.yaml"), 'extends: ["spectral:oas"]\n');
    const { stdout } = await run(dir, join(dir, "node_modules/.bin/spectral"), ["lint", FILE, "--format", "json"]);
    expect(JSON.parse(stdout.slice(stdout.indexOf("["), stdout.lastIndexOf("]") + 1))).toEqual([]);
  });

  it("is valid for openapi-spec-validator", async () => {
    const dir = await pip("openapi-spec-validator", "openapi-spec-validator==0.9.0");
    if (dir === null) return;
    const { stdout, stderr } = await run(dir, join(dir, "bin/openapi-spec-validator"), [FILE]);
    expect(stdout + stderr).toContain(": OK");
  });

  it("has no pattern that only JavaScript understands", () => {
    expect(text).not.toMatch(/"pattern":"[^"]*\\\\[pP]\{/);
  });
});

describe("a generated client", () => {
  it("in Python is made without a warning", async () => {
    const dir = await pip(...PYTHON_CLIENT);
    if (dir === null) return;
    const args = ["generate", "--path", FILE, "--output-path", join(dir, "generated"), "--meta", "none"];
    const { stdout, stderr } = await run(dir, join(dir, "bin/openapi-python-client"), args);
    expect(stdout + stderr).not.toMatch(/warning|unable|skipping/i);
  });

  it("in Python publishes, and replays", async () => {
    const dir = await pip(...PYTHON_CLIENT);
    if (dir === null || !existsSync(join(dir, "generated"))) return;
    const program = join(dir, "program.py");
    writeFileSync(
      program,
      `
import sys
from generated import AuthenticatedClient
from generated.api.publishing import publish_event
from generated.api.events import replay_event
from generated.models import EventDraft, EventTypeName, PublishedData, ReplayEventBody
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
data = PublishedData.from_dict({"n": 1})
made = publish_event.sync(client=client, body=EventDraft(type_=EventTypeName.BUDGET_EXCEEDED, data=data))
refused = replay_event.sync_detailed(made.id, client=client, body=ReplayEventBody())
print(made.type_, refused.status_code.value)
`,
    );
    const api = await ApiServer.start(await aStore());
    const { stdout, stderr } = await run(dir, join(dir, "bin/python"), [
      program,
      `http://127.0.0.1:${api.port}`,
      api.adminKey,
    ]);
    // Without an endpoint nothing has failed, so there is nothing to replay.
    expect(stdout.trim(), stderr).toBe("budget.exceeded 409");
  });

  it("in TypeScript is made without an error", async () => {
    const dir = await npm(...TYPESCRIPT);
    if (dir === null) return;
    const { ok, stderr } = await run(dir, join(dir, "node_modules/.bin/openapi-typescript"), [
      FILE,
      "-o",
      "paths.d.ts",
    ]);
    expect(ok, stderr).toBe(true);
  });

  it("in TypeScript is typed strictly, publishes, and replays", async () => {
    const dir = join(scratch, TYPESCRIPT[0]);
    if (!existsSync(join(dir, "paths.d.ts"))) return;
    writeFileSync(join(dir, "package.json"), '{"type":"module"}');
    writeFileSync(
      join(dir, "program.ts"),
      `
import createClient from "openapi-fetch";
import type { paths } from "./paths.d.ts";
declare const process: { argv: string[] };
const [, , baseUrl, key] = process.argv as [string, string, string, string];
const client = createClient<paths>({ baseUrl, headers: { authorization: "Bearer " + key } });
const { data } = await client.POST("/v1/webhooks/events", { body: { type: "budget.exceeded", data: { n: 1 } } });
const id: string = data!.id;
const { response, error } = await client.POST("/v1/webhooks/events/{id}/retry", { params: { path: { id } }, body: {} });
console.log(data!.type, response.status, error?.code);
`,
    );
    const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "program.ts"];
    const compiled = await run(dir, join(dir, "node_modules/.bin/tsc"), options);
    expect(compiled.stdout).toBe("");
    const api = await ApiServer.start(await aStore());
    const { stdout, stderr } = await run(dir, process.execPath, [
      "program.js",
      `http://127.0.0.1:${api.port}`,
      api.adminKey,
    ]);
    expect(stdout.trim(), stderr).toBe("budget.exceeded 409 event_not_failed");
  });
});
