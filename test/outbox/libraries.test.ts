/**
 * Applications that insert into an outbox through Drizzle and SQLAlchemy, as docs/outbox.md shows. The libraries are
 * installed into a temporary folder, so this needs the registries; one that cannot be installed here is skipped.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { blocksOf } from "../docs/blocks.ts";
import { withClient } from "../harness/postgres.ts";
import { eventsOf, onPostgres, reading } from "./outbox.ts";

const scratch = mkdtempSync(join(tmpdir(), "webhookd-outbox-libraries-"));
afterAll(() => rmSync(scratch, { recursive: true }));

type Command = readonly [file: string, ...args: string[]];

interface Library {
  readonly name: string;
  readonly install: Command;
  readonly file: string;
  readonly run: Command;
  /** The language of its block on the page, and a text that only this block has. */
  readonly language: string;
  readonly mark: string;
  /** The end of the transaction in the block, and the same with a failure before it. */
  readonly end: RegExp;
  readonly failing: string;
}

const PYTHON = join(scratch, "lib");
const WHEELS = ["--quiet", "--no-compile", "--only-binary", ":all:", "--target", PYTHON];

const LIBRARIES: readonly Library[] = [
  {
    name: "Drizzle",
    install: ["npm", "install", "--silent", "--no-audit", "--no-fund", "drizzle-orm@0.45.4", "pg@8.23.1"],
    file: "app.mjs",
    run: [process.execPath, "app.mjs"],
    language: "js",
    mark: "drizzle-orm",
    end: /\n\}\);\n/,
    failing: '\n  throw new Error("not paid");\n});\n',
  },
  {
    name: "SQLAlchemy",
    install: ["python3", "-m", "pip", "install", ...WHEELS, "SQLAlchemy==2.1.9", "psycopg[binary]==3.3.9"],
    file: "app.py",
    run: ["env", `PYTHONPATH=${PYTHON}`, "python3", "app.py"],
    language: "python",
    mark: "sqlalchemy",
    end: /$/,
    failing: '    raise ValueError("not paid")\n',
  },
];

function call([file, ...args]: Command, env: Record<string, string> = {}): Promise<{ ok: boolean; said: string }> {
  const options = { cwd: scratch, timeout: 200_000, env: { ...process.env, ...env } };
  return new Promise((resolve) =>
    execFile(file, args, options, (error, stdout, stderr) =>
      resolve({ ok: error === null, said: `${stdout}${stderr}${error?.message ?? ""}` }),
    ),
  );
}

it.each(LIBRARIES.map((library) => [library.name, library] as const))(
  "%s: what a transaction commits is published once, and what it rolls back never",
  async (name, { install, file, run, language, mark, end, failing }) => {
    const installed = await call(install);
    if (!installed.ok)
      return void process.stderr.write(`SKIPPED: ${name} cannot be installed here: ${installed.said}\n`);
    const [example] = blocksOf("docs/outbox.md").filter((one) => one.language === language && one.text.includes(mark));
    const shop = await onPostgres();
    await shop.sql("CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, total text)");
    const orders = () => withClient(shop.url, async (client) => (await client.query("SELECT total FROM orders")).rows);
    const { daemon, receiver } = await reading(shop);
    const as = async (text: string) => {
      writeFileSync(join(scratch, file), text);
      return call(run, { DATABASE_URL: shop.url });
    };

    const failed = example!.text.replace(end, failing);
    expect(failed).not.toBe(example!.text);
    expect(await as(failed)).toMatchObject({ ok: false, said: expect.stringContaining("not paid") });
    expect([await orders(), await shop.rows()]).toEqual([[], []]);

    expect(await as(example!.text)).toMatchObject({ ok: true });
    expect(await orders()).toEqual([{ total: "12.50" }]);
    await vi.waitFor(() => expect(receiver.requests).toHaveLength(1), { timeout: 30_000, interval: 20 });
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({
      type: "budget.exceeded",
      data: { order: 1, total: "12.50" },
    });
    await vi.waitFor(async () => expect(await shop.rows()).toEqual([]), { timeout: 30_000, interval: 20 });
    expect(await eventsOf(daemon)).toHaveLength(1);
  },
);
