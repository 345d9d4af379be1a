/** The publishing of rows: what becomes of each, whatever the store refuses. */
import { describe, expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { CLAIM_MS, LASTING } from "../../src/domain/outbox/key.ts";
import type { OutboxRow } from "../../src/domain/outbox/outbox.ts";
import { RowPublisher, type PublisherParts } from "../../src/outbox/publisher.ts";
import { ManualClock } from "../harness/clock.ts";

const OUTBOX = {
  name: "shop",
  table: "t",
  database: { kind: "sqlite", file: "f" },
  tenant: { column: "tenant" },
} as const;

const row = (id: number, more: Partial<OutboxRow> = {}): OutboxRow => ({
  id: String(id),
  type: "a.b",
  data: Buffer.from("{}"),
  dataBytes: 2,
  createdAt: null,
  publisherId: null,
  tags: null,
  orderingKey: null,
  tenant: "acme",
  ...more,
});

/** A store that refuses what `refuse` names. */
function publishing(refuse: (drafts: readonly EventDraft[]) => Error | null = () => null) {
  const clock = new ManualClock();
  const commits: string[][] = [];
  const drafts: EventDraft[] = [];
  const events = {
    async publish(some: readonly EventDraft[]) {
      const refusal = refuse(some);
      if (refusal !== null) throw refusal;
      commits.push(some.map(({ idempotency }) => idempotency!.key.split(" ").at(-1)!));
      drafts.push(...some);
      return some.map(() => ({ duplicate: false }));
    },
  };
  const catalogue = { types: new Map([["a.b", null]]), checkData: undefined, isShared: false };
  const parts = {
    store: { events },
    deliveries: { capacity: null, accept() {} },
    catalogue,
    clock,
    maxEventBytes: 1000,
  };
  return { publisher: new RowPublisher(parts as unknown as PublisherParts, OUTBOX), commits, drafts, clock };
}

const overloaded = new WebhookdError("overloaded", "too much is pending", { retryAfterSeconds: 10 });
const tooMany = new WebhookdError("validation_failed", "too many deliveries", {
  errors: [{ pointer: "/events", code: "fan_out_too_large", detail: "too many deliveries" }],
});

describe("rows that are published", () => {
  it("share a commit, without those that cannot be events", async () => {
    const { publisher, commits } = publishing();
    const outcomes = await publisher.publish([row(1), row(2, { type: "no" }), row(3)]);
    expect(outcomes).toEqual(["published", { problem: expect.stringContaining("/type") }, "published"]);
    expect(commits).toEqual([["1", "3"]]);
    expect(publisher.published).toBe(2);
  });

  it("have keys that do not expire with time, and are no older than their reading", async () => {
    const { publisher, drafts, clock } = publishing();
    await publisher.publish([row(1)]);
    expect(drafts[0]!.idempotency!.expiresAt).toBe(LASTING + clock.now());
    const late = publishing(() => (late.clock.advance(CLAIM_MS + 1), overloaded));
    await expect(late.publisher.publish([row(1), row(2)])).rejects.toThrow("too long ago");
  });

  it("are committed in smaller parts if they are too much for one, and only the one that is too much is set aside", async () => {
    const { publisher, commits } = publishing((some) =>
      some.length > 2 || some.some(({ idempotency }) => idempotency!.key.endsWith(" 3")) ? tooMany : null,
    );
    const outcomes = await publisher.publish([1, 2, 3, 4, 5].map((id) => row(id)));
    expect(outcomes).toEqual(["published", "published", { problem: "too many deliveries" }, "published", "published"]);
    expect(commits.flat()).toEqual(["1", "2", "4", "5"]);
  });

  it("wait if their tenant has too much pending, and keep no other tenant back", async () => {
    let isFull = true;
    const { publisher, commits, clock } = publishing((some) =>
      isFull && some.some(({ tenant }) => tenant === "acme") ? overloaded : null,
    );
    const rows = [row(1), row(2, { tenant: "other" }), row(3), row(4, { tenant: "other" })];
    expect(await publisher.publish(rows)).toEqual(["waits", "published", "waits", "published"]);
    expect(commits.flat()).toEqual(["2", "4"]);
    expect(publisher.resting()).toEqual(["acme"]);
    isFull = false;
    expect(await publisher.publish([row(1)])).toEqual(["waits"]);
    clock.advance(10_000);
    expect(publisher.resting()).toEqual([]);
    expect(await publisher.publish([row(1)])).toEqual(["published"]);
  });

  it("are all refused if the store cannot be written", async () => {
    const { publisher } = publishing(() => new WebhookdError("storage_full", "the disk is full"));
    await expect(publisher.publish([row(1), row(2)])).rejects.toThrow("the disk is full");
  });
});
