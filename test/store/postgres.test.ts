import { afterAll, describe } from "vitest";
import { startServer } from "../harness/postgres.ts";
import { everySuite } from "./conformance/every.ts";
import { likeItsModel } from "./conformance/model.ts";
import { openPostgresOn } from "./stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to test its store against");
afterAll(() => server?.stop());

describe.skipIf(server === null)("the PostgreSQL store", () => {
  const open = openPostgresOn(() => server!);
  everySuite(open, 200);
  likeItsModel(open, 1, 0);
});
