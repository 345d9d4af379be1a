/**
 * A few random histories on both stores. If they differ, fix the rule in `src/domain` that both stores call.
 * rounds.test.ts and `npm run diff` play more of them.
 */
import { afterAll, describe } from "vitest";
import { startServer } from "../../../harness/postgres.ts";
import { compareHistories } from "./compare.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to compare SQLite with");
afterAll(() => server?.stop());

describe.skipIf(server === null)("both stores", () => {
  compareHistories(() => server!, 1, 10);
});
