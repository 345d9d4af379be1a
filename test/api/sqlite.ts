import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noResponse } from "../../src/domain/deliveries/attempt.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { openStore, type OpenOptions } from "../../src/store/opening/open.ts";
import { openFile } from "../../src/store/sqlite/engine/open-database.ts";
import type { EndedAttempt, Store } from "../../src/store/store.ts";
import { startThread } from "../../src/thread.ts";
import { ManualClock } from "../harness/clock.ts";
import { afterEveryFile } from "../harness/ends.ts";
import { withCapacity } from "../store/fixtures.ts";

/** Opens the real store in a separate directory, which is removed when the file's tests end. */
export async function aStore(clock = new ManualClock(), more: Partial<OpenOptions> = {}): Promise<Store> {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-api-"));
  const { store } = await openStore({ dir, create: true, diskFloor: 0, clock, onFault: fail, startBackup, ...more });
  open.push({ dir, store });
  return store;
}

/** Damages the endpoint in the database, behind the store's back, so that a part of it cannot be read. */
export function damage(of: Store, endpoint: string): void {
  const { dir } = open.find(({ store }) => store === of)!;
  const db = openFile(join(dir, "webhookd.db"), { timeout: 5000, nativeBinding: undefined });
  db.prepare("UPDATE endpoint SET secret = 'x', next_secret = 'x', switches_at = 0, metadata = '7' WHERE id = ?").run(
    endpoint,
  );
  db.close();
}

/** Makes the private keys of all tenants unreadable, behind the store's back. */
export function damageKeys(of: Store): void {
  const { dir } = open.find(({ store }) => store === of)!;
  const db = openFile(join(dir, "webhookd.db"), { timeout: 5000, nativeBinding: undefined });
  db.prepare("UPDATE signing_key SET private_key = 'x', next_private_key = 'x', switches_at = 0").run();
  db.close();
}

/** Publishes an event and ends the attempts of all its deliveries. */
export async function anEvent(
  store: Store,
  now: number,
  end: "delivered" | "failed",
  draft: Partial<EventDraft> = {},
): Promise<string> {
  const data = Buffer.from('{"a":1}');
  const whole = { tenant: "default", type: "budget.exceeded", createdAt: now, data, ...draft };
  const [publication] = await store.events.publish([whole], now, withCapacity);
  await store.deliveries.record(publication!.fresh.map((claim) => anEnd(claim, now, end)));
  return publication!.id;
}

export function anEnd(claim: Claim, now: number, end: "delivered" | "failed"): EndedAttempt {
  return {
    claim,
    url: "https://example.com/h",
    startedAt: now,
    outcome: end === "failed" ? FAILURE : { ...FAILURE, outcome: "succeeded", statusCode: 204, error: null },
    verdict: { status: end },
    secretVersion: 1,
  };
}

const FAILURE = {
  ...noResponse("http_status", "the receiver answered 503", 12),
  statusCode: 503,
  responseHeaders: { "content-type": "text/plain" },
  responseBody: Buffer.from([0x6f, 0x6b, 0xff]),
};

const startBackup: NonNullable<OpenOptions["startBackup"]> = (data) => startThread("backup", data);

function fail(error: Error): never {
  throw error;
}

const open: { dir: string; store: Store }[] = [];

afterEveryFile(async () => {
  for (const { dir, store } of open.splice(0)) {
    await store.close();
    rmSync(dir, { recursive: true });
  }
});
