/**
 * Opens the store in the given directory with a migration that writes 20 MB and then takes longer than anyone waits.
 */
import { openStore } from "../../../../src/store/opening/open.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/engine/schema.ts";
import { optionsOf } from "../../stores.ts";

const long = `ALTER TABLE endpoint ADD COLUMN note TEXT;
  PRAGMA cache_spill = 50;
  CREATE TABLE much AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
    SELECT i, zeroblob(4000) AS bytes FROM n WHERE i < 5000`;

await openStore(optionsOf({ dir: process.argv[2]!, migrations: [...MIGRATIONS, { name: "much", sql: long }] }));
