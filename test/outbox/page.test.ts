/**
 * Types what docs/outbox.md says under "From a transaction to a delivery" and "From your language", with stand-ins for
 * psql and sqlite3, which may not be installed. `libraries.test.ts` runs the examples that need a library.
 */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import Database from "better-sqlite3";
import { expect, vi } from "vitest";
import { blocksOf } from "../docs/blocks.ts";
import { withClient } from "../harness/postgres.ts";
import { it } from "../harness/process.ts";
import { createDatabase } from "../store/stores.ts";
import { requireServer } from "./outbox.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const blocks = (section: string, language: string) =>
  blocksOf("docs/outbox.md").filter((block) => block.section === section && block.language === language);

/** Runs SQL that is piped in, or given with -c. */
const PSQL = `import { Client } from "pg";
import { text } from "node:stream/consumers";
const at = process.argv.indexOf("-c");
const sql = at === -1 ? await text(process.stdin) : process.argv[at + 1];
const client = new Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
await client.query(sql);
await client.end();
`;

async function run(program: string, words: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(program, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect([await ended, err], err).toEqual([0, expect.anything()]);
  return out;
}

it("leads from the page to the first delivery, and the examples insert events", async ({ machine }) => {
  const server = await requireServer();
  const name = await createDatabase(server);
  const url = server.urlOf(name);
  const home = machine.home;
  const bin = join(home, "bin");
  mkdirSync(bin);
  symlinkSync(join(ROOT, "node_modules"), join(home, "node_modules"));
  writeFileSync(join(home, "psql.mjs"), PSQL);
  const script = (name: string, line: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  script("psql", `exec "${process.execPath}" "${home}/psql.mjs" "$@"`);
  script("webhookd", `exec "${ROOT}/scripts/webhookd" "$@"`);
  const env = { ...process.env, HOME: home, DATABASE_URL: url, PATH: `${bin}:${process.env.PATH}` };
  await server.ask("DROP ROLE IF EXISTS webhookd");

  const section = "From a transaction to a delivery";
  const [make, serve] = blocks(section, "sh");
  await run("bash", ["-euc", make!.text], home, env);
  expect(serve!.text).toContain("webhookd serve");
  const [config] = blocks(section, "toml");
  const place = url.replace(/^.*@/, "webhookd:a-secret@");
  const file = join(home, "webhookd.toml");
  const sqlite = `[[outbox]]\nname = "file"\nsqlite = "shop.db"\n`;
  writeFileSync(file, `${config!.text.replace("webhookd:a-secret@127.0.0.1/shop", place)}${sqlite}`);

  const db = new Database(join(home, "shop.db"));
  const init = await run("bash", ["-euc", "webhookd outbox init sqlite"], home, env);
  db.exec(`${init}; CREATE TABLE orders (total TEXT);`);
  await withClient(url, (client) => client.query("CREATE TABLE orders (total text)"));

  const daemon = await machine.serve({ flags: ["--config", file] });
  const [insert] = blocks(section, "sql");
  await withClient(url, (client) => client.query(insert!.text));
  writeFileSync(join(home, "app.mjs"), blocks("From your language", "js")[0]!.text);
  await run(process.execPath, ["app.mjs"], home, env);
  await run("python3", ["-c", blocks("From your language", "python").at(-1)!.text], home, env);
  db.close();
  await vi.waitFor(
    async () => {
      const { body } = await daemon.request("GET", "/v1/webhooks/events");
      expect(body.data).toHaveLength(3);
    },
    { timeout: 20_000, interval: 50 },
  );
  const status = await daemon.request("GET", "/v1/outboxes");
  expect(status.body.data).toEqual([
    expect.objectContaining({ name: "shop", up: true, trouble: null, published: 2 }),
    expect.objectContaining({ name: "file", up: true, trouble: null, published: 1 }),
  ]);
});
