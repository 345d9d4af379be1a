import { ALERT_PACE_MS, joined, type AlertType, type Moment, type Notice } from "./alert.ts";

/** Only the latest of these is true of an endpoint. */
const STATES: readonly AlertType[] = [
  "webhookd.endpoint_failing",
  "webhookd.endpoint_recovered",
  "webhookd.endpoint_disabled",
];

/**
 * Merges notices that wait, from several nodes or while the store accepts none, so that at most one of each type waits.
 */
export class NoticeFolder {
  readonly #waiting = new Map<AlertType, Notice>();
  readonly #posted = new Map<AlertType, number>();

  add(notice: Notice): void {
    if (STATES.includes(notice.type)) this.#overrule(notice);
    const before = this.#waiting.get(notice.type);
    this.#waiting.set(notice.type, before === undefined ? notice : joined(before, notice));
  }

  /** Returns the notices that are due: one a minute of each type, for all nodes. With `isLast`, all of them are due. */
  take({ monotonic }: Moment, isLast = false): Notice[] {
    if (isLast) this.#posted.clear();
    const isDue = ({ type }: Notice) =>
      monotonic - (this.#posted.get(type) ?? Number.NEGATIVE_INFINITY) >= ALERT_PACE_MS;
    const due = [...this.#waiting.values()].filter(isDue);
    for (const { type } of due) {
      this.#posted.set(type, monotonic);
      this.#waiting.delete(type);
    }
    return due;
  }

  /** Returns all notices, whatever the pace. */
  takeAll(): Notice[] {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    return all;
  }

  #overrule(notice: Notice): void {
    const named = new Set("endpoints" in notice ? notice.endpoints.map(({ endpoint }) => endpoint) : []);
    for (const before of this.#waiting.values()) {
      if (before.type === notice.type || !STATES.includes(before.type) || !("endpoints" in before)) continue;
      const endpoints = before.endpoints.filter(({ endpoint }) => !named.has(endpoint));
      const total = before.total - (before.endpoints.length - endpoints.length);
      if (total === 0) this.#waiting.delete(before.type);
      else this.#waiting.set(before.type, { ...before, endpoints, total } as Notice);
    }
  }
}
