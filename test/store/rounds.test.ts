/** More rows and more seeds than test/store/sqlite.test.ts and test/store/postgres.test.ts have. */
import { afterAll, describe } from "vitest";
import { startServer } from "../harness/postgres.ts";
import { largeSuite } from "./conformance/large.ts";
import { likeItsModel } from "./conformance/model.ts";
import { openPostgresOn, openSqlite } from "./stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to test its store against");
afterAll(() => server?.stop());

describe("the SQLite store", () => {
  largeSuite(openSqlite, 4000);
  likeItsModel(openSqlite, 30, 8);
});

// Each query is a round trip, so the lists are shorter.
describe.skipIf(server === null)("the PostgreSQL store", () => {
  const open = openPostgresOn(() => server!);
  largeSuite(open, 2000);
  likeItsModel(open, 8, 2);
});
