/** The long form of `crash.test.ts`. WEBHOOKD_OUTBOX_ROUNDS is the number of its rounds in each database. */
import { expect } from "vitest";
import { it } from "../harness/process.ts";
import { outboxRounds, type Kind } from "./rounds.ts";

const ROUNDS = Number(process.env["WEBHOOKD_OUTBOX_ROUNDS"] ?? 12);

function rounds(kind: Kind): void {
  it(`${kind}: many rounds lose no row and double none`, async ({ machine }) => {
    const { committed, ...found } = await outboxRounds(machine, { kind, rounds: ROUNDS });
    expect(found).toEqual({ lost: [], doubled: [], invented: [], setAside: 0 });
    expect(committed).toBeGreaterThan(ROUNDS);
  });
}

rounds("postgres");
rounds("sqlite");
