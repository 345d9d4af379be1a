import { join } from "node:path";
import type { Statement } from "better-sqlite3";
import { expect, it } from "vitest";
import { onPrepare, sqliteError } from "../../../harness/prepared.ts";
import { publishOne } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

it("what a failed commit would have entered gives nobody else's events its name", async () => {
  const dir = temporaryDirectory();
  let fails = false;
  const detach = onPrepare(join(dir, "webhookd.db"), (sql, make) => {
    const made = make() as Statement<[]>;
    if (sql !== "COMMIT") return made;
    const run = () => {
      if (fails) throw sqliteError("SQLITE_BUSY");
      made.run();
    };
    return { run } as never;
  });
  const store = await open({ dir });
  detach();
  const named = (name: string) => publishOne(store, { tenant: name, type: `${name}.made` });
  fails = true;
  await expect(named("first")).rejects.toThrow("storage_unavailable");
  fails = false;
  // The rows of the second tenant get the numbers that were rolled back.
  const events = [await named("second"), await named("first")];
  const found = await Promise.all(events.map(({ id }) => store.reads.getEvent(null, id)));
  expect(found).toMatchObject([
    { tenant: "second", type: "second.made" },
    { tenant: "first", type: "first.made" },
  ]);
});
