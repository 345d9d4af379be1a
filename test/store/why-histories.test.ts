/**
 * Asks both stores, in random histories, why each event arrived at each endpoint or did not. WEBHOOKD_HISTORIES says
 * how many histories there are.
 */
import { afterAll, describe, expect, it } from "vitest";
import { startServer } from "../harness/postgres.ts";
import { REASON_CODES } from "../../src/domain/events/why.ts";
import { WhyHistory } from "./conformance/events/why-history.ts";
import { openPostgresOn, openSqlite, type OpenFresh } from "./stores.ts";

const HISTORIES = process.env.WEBHOOKD_HISTORIES;
const FIRST = Number(process.env.WEBHOOKD_HISTORY ?? 1);
const STEPS = 40;
/** Histories have their own tenants, so these many share a store. */
const SHARED = 10;
/** In so many, every answer occurs. */
const ENOUGH = 20;

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to test its store against");
afterAll(() => server?.stop());

function whyHistories(open: OpenFresh, count: number): void {
  const answers = new Set<string>();
  const firsts = Array.from({ length: Math.ceil(count / SHARED) }, (_, at) => FIRST + at * SHARED);
  it.each(firsts)("random histories from %i on are answered as they happened", async (first) => {
    const harness = await open();
    for (let seed = first; seed < Math.min(first + SHARED, FIRST + count); seed++) {
      const history = new WhyHistory(harness, seed);
      expect(await history.play(STEPS), `WEBHOOKD_HISTORY=${seed}`).toEqual([]);
      for (const code of history.answers) answers.add(code);
    }
  });

  // Nothing is unknown while its event is there.
  it.runIf(count >= ENOUGH)("every other answer occurs in them", () => {
    const others = REASON_CODES.filter((code) => code !== "unknown");
    expect(answers).toEqual(new Set(["no_event", ...others]));
  });
}

describe("the SQLite store", () => whyHistories(openSqlite, Number(HISTORIES ?? 20)));

describe.skipIf(server === null)("the PostgreSQL store", () => {
  whyHistories(
    openPostgresOn(() => server!),
    Number(HISTORIES ?? 3),
  );
});
