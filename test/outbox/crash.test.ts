/** Whoever is killed while rows are published, each row becomes one event. The long form is `rounds.test.ts`. */
import { expect } from "vitest";
import { it } from "../harness/process.ts";
import { outboxRounds } from "./rounds.ts";

const NOTHING = { lost: [], doubled: [], invented: [], setAside: 0 };

it("in PostgreSQL: webhookd, the database or the application", async ({ machine }) => {
  const { committed, ...found } = await outboxRounds(machine, { kind: "postgres", rounds: 3 });
  expect(found).toEqual(NOTHING);
  expect(committed).toBeGreaterThan(0);
});

it("in SQLite: webhookd or the application", async ({ machine }) => {
  const { committed, ...found } = await outboxRounds(machine, { kind: "sqlite", rounds: 2 });
  expect(found).toEqual(NOTHING);
  expect(committed).toBeGreaterThan(0);
});
