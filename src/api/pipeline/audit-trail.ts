/**
 * Writes an audit entry for each authenticated call of an audited route, including refused ones, but not dry runs. The
 * entry is committed right after the act and before the answer is sent, so a caller never has an answer, let alone a
 * secret, that the log does not know about. Frequent calls of the same kind share an entry that counts them
 * (audit-fold.ts). If the process dies between the two commits, the act has no entry, and its caller no answer.
 */
import type { Clock } from "../../clock.ts";
import { foldRuleOf, type FoldRule, REFUSED_ROWS } from "../../domain/audit-fold.ts";
import type { AuditAction, AuditEntry } from "../../domain/caller.ts";
import { WebhookdError, type ErrorCode } from "../../domain/errors.ts";
import { TYPE_NAME } from "../../domain/events/pattern.ts";
import { isAnyId, EVERY_TENANT } from "../../domain/id.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/store.ts";
import type { Peer } from "../server/socket.ts";
import { type Principal } from "./access.ts";
import { ClientGone } from "./body.ts";
import type { Reply } from "./reply.ts";
import { unawaited } from "../../domain/unawaited.ts";

export interface Act {
  readonly action: AuditAction;
  readonly principal: Principal;
  /** The process at the other end of the unix socket. */
  readonly peer: Peer | null;
  /** The `:id` of the path, which is outside text, or the id that it stands for. Called after the act. */
  readonly object: () => string | undefined;
  readonly requestId: string;
  readonly now: number;
}

/** Forget the oldest kind when there are this many. */
const MAX_FOLDS = 10_000;
/** The interval at which the counts of refused calls are written. */
const WRITE_MS = 1000;

/** Calls of one kind within its window. */
interface Fold {
  readonly since: number;
  rows: number;
  /** Resolves to the number of the last row that was written, or to 0 if it could not be written. */
  row: Promise<number>;
  /** Refused calls that are not in the row's count yet. */
  uncounted: number;
  lastAt: number;
}

export class AuditTrail {
  readonly #store: Pick<Store, "audit">;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #folds = new Map<string, Fold>();
  readonly #uncounted = new Set<Fold>();
  /** Refused calls within a minute, by caller. */
  readonly #refused = new Map<string, { readonly since: number; count: number }>();

  constructor({ store, log, clock }: { store: Pick<Store, "audit">; log: Log; clock: Clock }) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * Runs the act and writes its entry. Rejects with the store's error, instead of answering, if the entry cannot be
   * written.
   */
  async keep(act: Act, run: () => Promise<Reply>): Promise<Reply> {
    let reply: Reply;
    try {
      reply = await run();
    } catch (error) {
      await this.#noteRefusal(entryOf(act, codeOf(error), act.object()), act.now);
      throw error;
    }
    if (reply.isAudited === false) return reply;
    const outcome = headerOf(reply, "idempotency-replayed") === undefined ? "ok" : "repeated";
    const location = headerOf(reply, "location");
    const made = location?.slice(location.lastIndexOf("/") + 1);
    const entry = entryOf({ ...act, action: reply.audit ?? act.action }, outcome, act.object() ?? made);
    await this.#note({ ...entry, tenant: entry.tenant ?? reply.tenant ?? null }, act.now);
    return reply;
  }

  async #note(entry: AuditEntry, now: number): Promise<void> {
    const rule = foldRuleOf(entry);
    const fold = this.#foldOf(rule, now);
    if (fold.rows >= rule.rows) {
      const row = await fold.row;
      if (row > 0 && (await this.#store.audit.count(row, 1, now))) return;
    }
    await this.#add(fold, entry, now);
  }

  /**
   * Records a refusal. A failure to write it is only logged, because the caller must still learn why it was refused.
   */
  async #noteRefusal(entry: AuditEntry, now: number): Promise<void> {
    const rule = foldRuleOf(entry);
    const fold = this.#foldOf(rule, now);
    if (fold.rows >= rule.rows) {
      fold.uncounted++;
      fold.lastAt = now;
      if (this.#uncounted.size === 0) this.#clock.after(WRITE_MS, () => unawaited(this.#countRefused()));
      this.#uncounted.add(fold);
      return;
    }
    if (this.#hasManyRefused(entry, now)) return;
    try {
      await this.#add(fold, entry, now);
    } catch {
      this.#log.warn({ ...entry }, "a refused call could not be written to the audit log");
    }
  }

  async #countRefused(): Promise<void> {
    const folds = [...this.#uncounted];
    this.#uncounted.clear();
    await Promise.all(folds.map((fold) => this.#countIn(fold)));
  }

  async #countIn(fold: Fold): Promise<void> {
    const { uncounted, lastAt } = fold;
    fold.uncounted = 0;
    try {
      const row = await fold.row;
      if (row > 0) await this.#store.audit.count(row, uncounted, lastAt);
    } catch {
      this.#log.warn({ calls: uncounted }, "refused calls could not be counted in the audit log");
    }
  }

  async #add(fold: Fold, entry: AuditEntry, now: number): Promise<void> {
    const adding = this.#store.audit.add(entry, now);
    // Later calls wait for this row, and add their own row if this one could not be written.
    fold.row = adding.catch(() => 0);
    fold.rows++;
    try {
      await adding;
    } catch (error) {
      fold.rows--;
      throw error;
    }
  }

  #foldOf({ kind, windowMs }: FoldRule, now: number): Fold {
    const known = this.#folds.get(kind);
    if (known !== undefined && Math.abs(now - known.since) < windowMs) return known;
    this.#folds.delete(kind);
    if (this.#folds.size >= MAX_FOLDS) this.#folds.delete(this.#folds.keys().next().value!);
    const fold = { since: now, rows: 0, row: Promise.resolve(0), uncounted: 0, lastAt: now };
    this.#folds.set(kind, fold);
    return fold;
  }

  /**
   * True if the caller has used up its rows for refused calls of this minute. The number of calls without a row is
   * logged later.
   */
  #hasManyRefused({ actor, uid }: AuditEntry, now: number): boolean {
    const caller = `${actor} ${uid ?? ""}`;
    const known = this.#refused.get(caller);
    if (known !== undefined && Math.abs(now - known.since) < REFUSED_ROWS.windowMs) {
      return ++known.count > REFUSED_ROWS.rows;
    }
    const folded = (known?.count ?? 0) - REFUSED_ROWS.rows;
    if (folded > 0) this.#log.info({ actor, folded }, "some refused calls were not recorded in the audit log");
    this.#refused.delete(caller);
    if (this.#refused.size >= MAX_FOLDS) this.#refused.delete(this.#refused.keys().next().value!);
    this.#refused.set(caller, { since: now, count: 1 });
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
    object: isAnyId(object) || (action.startsWith("event_type.") && TYPE_NAME.test(object)) ? object : null,
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
