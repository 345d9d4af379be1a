/**
 * An application that changes its own table and inserts into its outbox, in the same transactions, until it is killed.
 * Some of its transactions are rolled back, and some last longer than later ones. `orders` then has what was committed.
 */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { Client } from "pg";

const WORKERS = 4;
const [kind, where] = process.argv.slice(2) as ["postgres" | "sqlite", string];

async function onPostgres(): Promise<never> {
  const client = new Client({ connectionString: where });
  client.on("error", () => {});
  await client.connect();
  for (;;) {
    await client.query("BEGIN");
    for (let left = randomInt(1, 5); left > 0; left--) {
      // The row of the outbox has the number of its order as the publisher's id, by which its event is found.
      await client.query(
        `WITH placed AS (INSERT INTO orders DEFAULT VALUES RETURNING n)
         INSERT INTO webhookd_outbox (type, data, publisher_id) SELECT 'budget.exceeded', '{}', n::text FROM placed`,
      );
    }
    if (randomInt(10) === 0) await sleep(randomInt(100));
    await client.query(randomInt(10) === 0 ? "ROLLBACK" : "COMMIT");
    await sleep(randomInt(40));
  }
}

/** Connects again for as long as the database is away. */
async function always(work: () => Promise<never>): Promise<never> {
  for (;;) {
    await work().catch(() => {});
    await sleep(20);
  }
}

async function onSqlite(): Promise<never> {
  const db = new Database(where, { timeout: 5000 });
  const order = db.prepare("INSERT INTO orders DEFAULT VALUES");
  const event = db.prepare(
    "INSERT INTO webhookd_outbox (type, data, publisher_id) VALUES ('budget.exceeded', '{}', ?)",
  );
  for (;;) {
    db.exec("BEGIN IMMEDIATE");
    for (let left = randomInt(1, 5); left > 0; left--) event.run(String(order.run().lastInsertRowid));
    db.exec(randomInt(10) === 0 ? "ROLLBACK" : "COMMIT");
    await sleep(randomInt(10));
  }
}

process.stdout.write("begun\n");
await Promise.all(
  Array.from({ length: kind === "sqlite" ? 1 : WORKERS }, () => always(kind === "sqlite" ? onSqlite : onPostgres)),
);
