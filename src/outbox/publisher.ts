/** Publishes the rows of one outbox, as the API does for the events of a request. */
import type { Catalogue } from "../api/event-types/catalogue.ts";
import { publish, type PublishParts } from "../api/publishing/publish.ts";
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { EventDraft } from "../domain/events/event.ts";
import { PIECE_BYTES } from "../domain/json/json-token.ts";
import { CLAIM_MS, lastingFrom } from "../domain/outbox/key.ts";
import type { OutboxRow, OutboxSettings, RowOutcome } from "../domain/outbox/outbox.ts";
import { OutboxFault } from "./table.ts";
import { draftOf, RowProblem, problemOf, type RowRules } from "./row-draft.ts";

export interface PublisherParts extends PublishParts {
  readonly catalogue: Pick<Catalogue, "types" | "checkData" | "isShared" | "look" | "revision">;
  readonly clock: Clock;
  readonly maxEventBytes: number;
}

/** The time for which a tenant that has too much pending is left alone, unless the refusal says another. */
const REST_SECONDS = 10;

interface Drafted {
  readonly at: number;
  readonly draft: EventDraft;
}

export class RowPublisher {
  published = 0;
  readonly #parts: PublisherParts;
  readonly #outbox: OutboxSettings;
  /** Tenants that have too much pending, and the monotonic time until which nothing of theirs is published. */
  readonly #resting = new Map<string, number>();

  constructor(parts: PublisherParts, outbox: OutboxSettings) {
    this.#parts = parts;
    this.#outbox = outbox;
  }

  /** The tenants whose rows wait for now, so that those of others are read instead. */
  resting(): readonly string[] {
    const now = this.#parts.clock.monotonic();
    for (const [tenant, until] of this.#resting) if (until <= now) this.#resting.delete(tenant);
    return [...this.#resting.keys()];
  }

  /**
   * Resolves once each row is an event on the disk, waits, or has a problem; in the order of the rows. Rejects if no
   * more can be stored. Some of the rows may then be on the disk, and have to be published again, which changes nothing.
   */
  async publish(rows: readonly OutboxRow[]): Promise<readonly RowOutcome[]> {
    const takenAt = this.#parts.clock.monotonic();
    const outcomes: RowOutcome[] = Array.from(rows, () => "waits" as const);
    const drafted = await this.#drafts(rows, outcomes);
    await this.#commit(drafted, outcomes, takenAt);
    return outcomes;
  }

  /** Checks the rows, and lets other work have its turn in between. */
  async #drafts(rows: readonly OutboxRow[], outcomes: RowOutcome[]): Promise<Drafted[]> {
    const { catalogue, clock } = this.#parts;
    const drafted: Drafted[] = [];
    let bytes = 0;
    let hasLooked = !catalogue.isShared;
    for (const [at, row] of rows.entries()) {
      const check = () => draftOf(row, this.#outbox, this.#rules());
      try {
        drafted.push({ at, draft: check() });
      } catch (error) {
        if (!(error instanceof RowProblem)) throw error;
        if (error.isAboutType && !hasLooked) {
          // Another node may have added the type.
          await catalogue.look();
          hasLooked = true;
        }
        const draft = error.isAboutType && catalogue.isShared ? orProblem(check) : error;
        if (draft instanceof RowProblem) outcomes[at] = { problem: draft.message };
        else drafted.push({ at, draft });
      }
      bytes += row.data?.length ?? 0;
      if (bytes < PIECE_BYTES) continue;
      bytes = 0;
      await new Promise<void>((resolve) => clock.nextTurn(resolve));
    }
    return drafted;
  }

  #rules(): RowRules {
    const { catalogue, clock, maxEventBytes } = this.#parts;
    const { types, checkData } = catalogue;
    const now = clock.now();
    return { types, checkData, maxEventBytes, now, expiresAt: lastingFrom(now) };
  }

  /**
   * Commits all of them, or, if they are too much for one commit, each half by itself. So one row that is refused keeps
   * no other one back.
   */
  async #commit(some: readonly Drafted[], outcomes: RowOutcome[], takenAt: number): Promise<void> {
    const going = this.#resting.size === 0 ? some : some.filter(({ draft }) => !this.#resting.has(draft.tenant));
    if (going.length === 0) return;
    const { clock } = this.#parts;
    if (clock.monotonic() - takenAt > CLAIM_MS) {
      // A process that was suspended gets here.
      const what = "its rows were read too long ago to be published";
      throw new OutboxFault({ what, todo: "nothing: they are read again" });
    }
    const drafts = going.map(({ draft }) => draft);
    try {
      const inPieces = (pieces: Generator<void, void>) => this.#inTurns(pieces);
      const publications = await publish(this.#parts, drafts, { now: clock.now(), inPieces });
      for (const [index, { at }] of going.entries()) {
        outcomes[at] = "published";
        if (!publications[index]!.duplicate) this.published++;
      }
    } catch (error) {
      if (!(error instanceof WebhookdError) || !isRefusal(error)) throw error;
      if (going.length > 1) {
        const half = going.length >> 1;
        await this.#commit(going.slice(0, half), outcomes, takenAt);
        await this.#commit(going.slice(half), outcomes, takenAt);
        return;
      }
      const [{ at, draft }] = going as [Drafted];
      if (error.code === "overloaded") {
        const rest = (error.retryAfterSeconds ?? REST_SECONDS) * 1000;
        this.#resting.set(draft.tenant, clock.monotonic() + rest);
      } else outcomes[at] = { problem: (problemOf(error) as RowProblem).message };
    }
  }

  async #inTurns(pieces: Generator<void, void>): Promise<void> {
    while (pieces.next().done !== true) {
      await new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
    }
  }
}

/** Returns true for a refusal of these events, and false if nothing can be stored now. */
function isRefusal({ code }: WebhookdError): boolean {
  return code === "overloaded" || code === "validation_failed" || code === "idempotency_mismatch";
}

function orProblem(check: () => EventDraft): EventDraft | RowProblem {
  try {
    return check();
  } catch (error) {
    if (error instanceof RowProblem) return error;
    throw error;
  }
}
