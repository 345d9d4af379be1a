/** More histories than differential.test.ts plays. `npm run diff` sets how many, and WEBHOOKD_HISTORY the first. */
import { afterAll, describe } from "vitest";
import { startServer } from "../../../harness/postgres.ts";
import { compareHistories } from "./compare.ts";

const HISTORIES = Number(process.env.WEBHOOKD_HISTORIES ?? 330);
const FIRST = Number(process.env.WEBHOOKD_HISTORY ?? 1001);

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to compare SQLite with");
afterAll(() => server?.stop());

describe.skipIf(server === null)("both stores", () => {
  compareHistories(() => server!, FIRST, HISTORIES);
});
