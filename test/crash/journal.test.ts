import { join } from "node:path";
import { expect, it } from "vitest";
import { Journal, readJournal } from "../../scripts/crash/journal.ts";
import { aDirectory } from "../harness/daemon.ts";

it("gives back what was written, of more than is read at once", async () => {
  const file = join(aDirectory(), "journal.jsonl");
  const entries = Array.from({ length: 3000 }, (_, nth) => ({ nth, text: "é€𝄞".repeat(nth % 200) }));
  const journal = await Journal.open(file);
  await journal.append(...entries);
  await journal.append({ last: true });
  await journal.close();
  expect([...readJournal(file)]).toEqual([...entries, { last: true }]);
});
