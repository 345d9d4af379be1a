import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { salvage } from "../../../src/store/sqlite/damage/salvage.ts";
import { applySteps, shapePages } from "../../../src/store/sqlite/engine/open-database.ts";
import { MIGRATIONS } from "../../../src/store/sqlite/engine/schema.ts";
import { overwrite, pagesOf } from "../../harness/pages.ts";
import { temporaryDirectory } from "../stores.ts";
import { FRESH_FROM } from "../../../src/store/sqlite/numbers/fragments.ts";

const EVENTS = 400;
const KEY = 3_000_000_000_000_000;

function empty(file: string): Database.Database {
  const db = new Database(file);
  shapePages(db);
  return db;
}

it.each(MIGRATIONS.map((_, at) => at + 1))(
  "a damaged store of schema %i is mended as it is, and migrated afterwards",
  (schema) => {
    const dir = temporaryDirectory();
    const file = join(dir, "damaged.db");
    const made = empty(file);
    const migrations = MIGRATIONS.slice(0, schema);
    applySteps(made, 0, { migrations });
    const event = made.prepare(
      `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, body_hash, body)
       VALUES (?, 'x', 1, 1, 0, 0, 0, x'00', ?)`,
    );
    const delivery = made.prepare(
      `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
       VALUES (?, 1, 1, 0, 1, 0, 0, 1)`,
    );
    for (let at = 0; at < EVENTS; at++) {
      event.run(KEY + at, Buffer.alloc(300, "x"));
      delivery.run(KEY + at);
    }
    made.close();
    const leaves = pagesOf(file).filter(({ tree, kind }) => tree === "event" && kind === "leaf");
    overwrite(file, leaves[3]!.page);

    const from = new Database(file, { readonly: true });
    const to = empty(join(dir, "mended.db"));
    const lost = salvage({ from, to, file, migrations });
    expect(lost).toMatchObject([{ table: "event", rows: expect.any(Number) }]);
    applySteps(to, schema, { migrations: MIGRATIONS });
    const kept = to.prepare<[], number>("SELECT count(*) FROM event").pluck().get()!;
    expect(kept).toBe(EVENTS - lost[0]!.rows!);
    expect(kept).toBeGreaterThan(EVENTS / 2);
    expect(to.prepare("SELECT count(*) FROM delivery").pluck().get()).toBe(kept);
    expect(to.prepare<[], number>(`SELECT ${FRESH_FROM}`).pluck().get()).toBeGreaterThanOrEqual(0);
    from.close();
    to.close();
  },
);
