/** Each way in which PostgreSQL refuses or restricts the daemon gets its own message, which says what to do. */
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { CONNECTIONS } from "../../src/store/postgres/fault.ts";
import { startServer, withClient } from "../harness/postgres.ts";
import { Pooler } from "../harness/pooler.ts";
import { it, type Machine } from "../harness/process.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to be refused by");
afterAll(() => server?.stop());

let names = 0;

/** Creates an empty database, and a user that may connect to it and nothing else. */
async function asUser(rights = ""): Promise<{ url: string; user: string; database: string }> {
  const user = `user_${++names}`;
  const database = `database_${names}`;
  await server!.ask(`CREATE ROLE ${user} LOGIN ${rights}`);
  await server!.ask(`CREATE DATABASE ${database}`);
  return { user, database, url: server!.urlOf(database).replace("//test@", `//${user}@`) };
}

async function refusal(machine: Machine, url: string) {
  const started = machine.start({ settings: { DATA_STORE: url } });
  expect(await started.exit, started.stderr).toBe(74);
  expect(started.stderr).not.toContain("bug");
  return started.stderr;
}

describe.skipIf(server === null)("serve says what to do where PostgreSQL", () => {
  it("takes fewer connections than it needs", async ({ machine }) => {
    const { url, database, user } = await asUser("CONNECTION LIMIT 2");
    await server!.ask(`ALTER DATABASE ${database} OWNER TO ${user}`);
    const said = await refusal(machine, url);
    expect(said).toContain(`too many connections for role "${user}"`);
    expect(said).toContain(`${CONNECTIONS} connections`);
    expect(said).toContain("CONNECTION LIMIT");
  });

  it("lets the user make no tables", async ({ machine }) => {
    const { url, database, user } = await asUser();
    const said = await refusal(machine, url);
    expect(said).toContain("permission denied for schema public");
    expect(said).toContain(`ALTER DATABASE ${database} OWNER TO ${user}`);
    expect(said).toContain(`GRANT USAGE, CREATE ON SCHEMA public TO ${user}`);
    // The suggested statement is enough.
    await server!.ask(`ALTER DATABASE ${database} OWNER TO ${user}`);
    await machine.serve({ settings: { DATA_STORE: url } });
  });

  it("is behind a pooler in transaction mode", async ({ machine }) => {
    const { database } = await asUser();
    const pooler = await Pooler.to(server!.urlOf(database));
    onTestFinished(() => pooler.close());
    const said = await refusal(machine, `postgres://test@127.0.0.1:${pooler.port}/${database}`);
    expect(said).toContain("a pooler in transaction mode");
    expect(said).toContain("session mode");
  });

  it("has no such database, or no such user", async ({ machine }) => {
    const { url } = await asUser();
    expect(await refusal(machine, url.replace(/[^/]*$/, "none"))).toContain("CREATE DATABASE");
    expect(await refusal(machine, url.replace(/user_\d+/, "nobody"))).toContain("may log in");
  });
});

describe.skipIf(server === null)("a daemon whose tables are gone", () => {
  it("answers 503 and says so, and goes on once they are back", async ({ machine }) => {
    const { url, database, user } = await asUser();
    await server!.ask(`ALTER DATABASE ${database} OWNER TO ${user}`);
    const daemon = await machine.serve({ settings: { DATA_STORE: url } });
    const kept = `kept_${database}`;
    const admin = server!.urlOf(database);
    // The schema is empty, as if it had been dropped and created again.
    await withClient(admin, (client) => client.query(`ALTER SCHEMA public RENAME TO ${kept}; CREATE SCHEMA public`));
    const event = { type: "budget.exceeded", data: {} };
    const publish = async () => (await daemon.request("POST", "/v1/webhooks/events", event)).status;
    expect(await publish()).toBe(503);
    const { detail } = (await daemon.process.json(({ msg }) =>
      String(msg).includes("tables of the store are gone"),
    )) as {
      detail?: string;
    };
    expect(detail ?? "").toBeDefined();
    await withClient(admin, (client) => client.query(`DROP SCHEMA public; ALTER SCHEMA ${kept} RENAME TO public`));
    await expect.poll(publish).toBe(202);
  });
});
