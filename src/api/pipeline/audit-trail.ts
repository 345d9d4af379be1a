/**
 * Writes down each call of an audited route that came past authentication, the refused ones too; not the one that only
 * asked what it would do. The entry is committed
 * right after the act and before the answer leaves: no caller ever holds an answer, a secret least of all, that the
 * log does not know of. A process that dies between the two commits leaves an act that nobody was told of and no entry.
 */
import type { AuditAction, AuditEntry } from "../../domain/caller.ts";
import { WebhookdError, type ErrorCode } from "../../domain/errors.ts";
import { isAnyId } from "../../domain/id.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/store.ts";
import type { Peer } from "../server/socket.ts";
import { type Principal, EVERY_TENANT } from "./access.ts";
import { ClientGone } from "./body.ts";
import type { Reply } from "./reply.ts";

export interface Act {
  readonly action: AuditAction;
  readonly principal: Principal;
  /** Of a caller over the unix socket. */
  readonly peer: Peer | null;
  /** The `:id` of the path, which is outside text, or the id that it stands for. Asked once the act is over. */
  readonly object: () => string | undefined;
  readonly requestId: string;
  readonly now: number;
}

/**
 * So many refusals of one caller, action and code have an entry each for so long, and so many of one caller whatever they
 * are: they must not fill the disk.
 */
const TOLD = 3;
const TOLD_IN_ALL = 30;
const FOLD_MS = 60_000;
/** Past this many kinds the memory of them starts anew. */
const MAX_FOLDS = 10_000;

/** Refusals of a kind within a minute. */
interface Fold {
  readonly since: number;
  count: number;
}

export class AuditTrail {
  readonly #store: Pick<Store, "audit">;
  readonly #log: Log;
  readonly #folds = new Map<string, Fold>();

  constructor(store: Pick<Store, "audit">, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Rejects with the store's error, in place of the answer, when what was done cannot be written down. */
  async keep(act: Act, run: () => Promise<Reply>): Promise<Reply> {
    let reply: Reply;
    try {
      reply = await run();
    } catch (error) {
      await this.#noteRefusal(act, codeOf(error));
      throw error;
    }
    if (reply.isAudited === false) return reply;
    const outcome = headerOf(reply, "idempotency-replayed") === undefined ? "ok" : "repeated";
    const location = headerOf(reply, "location");
    const made = location?.slice(location.lastIndexOf("/") + 1);
    await this.#store.audit.add(
      entryOf({ ...act, action: reply.audit ?? act.action }, outcome, act.object() ?? made),
      act.now,
    );
    return reply;
  }

  /** The caller hears why it was refused, whatever becomes of the entry. */
  async #noteRefusal(act: Act, outcome: AuditEntry["outcome"]): Promise<void> {
    const entry = entryOf(act, outcome, act.object());
    const { actor, uid, action } = entry;
    const caller = `${actor} ${uid ?? ""}`;
    if (this.#isFolded(`${caller} ${action} ${outcome}`, TOLD, { actor, action, outcome }, act.now)) return;
    if (this.#isFolded(caller, TOLD_IN_ALL, { actor }, act.now)) return;
    try {
      await this.#store.audit.add(entry, act.now);
    } catch {
      this.#log.warn({ ...entry }, "a refused call could not be written to the audit log");
    }
  }

  /** Whether it has no entry of its own any more. How many had none is logged once their minute is over. */
  #isFolded(kind: string, told: number, fields: Partial<AuditEntry>, now: number): boolean {
    const fold = this.#folds.get(kind);
    if (fold !== undefined && Math.abs(now - fold.since) < FOLD_MS) {
      fold.count += 1;
      return fold.count > told;
    }
    if (fold !== undefined && fold.count > told) {
      const folded = fold.count - told;
      this.#log.info(
        { ...fields, folded },
        "some refused calls were counted, not recorded in the audit log one by one",
      );
    }
    this.#folds.delete(kind);
    if (this.#folds.size >= MAX_FOLDS) this.#folds.clear();
    this.#folds.set(kind, { since: now, count: 1 });
    return false;
  }
}

function entryOf({ action, principal, peer, requestId }: Act, outcome: AuditEntry["outcome"], object = ""): AuditEntry {
  return {
    actor: principal.keyId ?? "socket",
    uid: peer?.uid ?? null,
    user: peer?.user ?? null,
    tenant: principal.tenant === EVERY_TENANT ? null : principal.tenant,
    action,
    object: isAnyId(object) ? object : null,
    requestId,
    outcome,
  };
}

function codeOf(error: unknown): ErrorCode {
  if (error instanceof WebhookdError) return error.code;
  return error instanceof ClientGone ? "bad_request" : "internal";
}

function headerOf({ headers = [] }: Reply, name: string): string | undefined {
  return headers.find(([known]) => known === name)?.[1];
}
