/** The smallest history for the oracle: one event, acknowledged and delivered to three endpoints. */
import { createHash } from "node:crypto";
import type { ShownAttempt, ShownDelivery, ShownEvent } from "../../scripts/crash/api.ts";
import type { DriverEntry, ReceiverEntry, SeenRequest } from "../../scripts/crash/entries.ts";
import { historyOf } from "../../scripts/crash/history.ts";
import type { Shown } from "../../scripts/crash/shown.ts";
import { judge, type Findings } from "../../scripts/crash/judge.ts";

const EVENT = "evt_1";
const CREATED_AT = "2026-11-20T09:55:00.123Z";
const DATA = `{"marker":"m1"}`;
const ENVELOPE = `{"id":"${EVENT}","type":"budget.exceeded","created_at":"${CREATED_AT}","data":${DATA}}`;
const NOW = 10_000;
const ACK = { generation: 1, sentAt: 980, ackedAt: 990 };

interface Mutable<T> extends Omit<Shown, "events" | "attempts"> {
  events: T[];
  attempts: Map<string, ShownAttempt[]>;
}
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A story. Tests change the history and then ask for the verdict. */
export class Story {
  readonly driver: DriverEntry[] = [
    { kind: "intent", batch: 1, type: "budget.exceeded", items: [{ marker: "m1", data: DATA }] },
    { kind: "ack", batch: 1, answered: [{ id: EVENT, created_at: CREATED_AT, delivery_count: 3 }], ...ACK },
  ];
  readonly receivers: ReceiverEntry[] = [];
  readonly deliveries: Writable<ShownDelivery>[] = [];
  /** The deliveries that `inLine` has published. */
  readonly lined: { readonly event: string; readonly delivery: string }[] = [];
  readonly shown: Mutable<ShownEvent> = { now: NOW, events: [], attempts: new Map() };

  constructor() {
    for (const delivery of ["dlv_1", "dlv_2", "dlv_3"]) {
      this.request({ delivery, at: 1000 }, 200);
      this.deliveries.push({
        id: delivery,
        endpoint: "ep",
        status: "delivered",
        attempts: 1,
        next_attempt_at: null,
        sequence: null,
      });
    }
    const { deliveries } = this;
    this.shown.events.push({ id: EVENT, type: "budget.exceeded", data: { marker: "m1" }, deliveries });
  }

  /**
   * Adds a complete request and its answer, if there is one. The receiver may be suspended for `stalledMs` before the
   * answer is sent.
   */
  request(of: Partial<SeenRequest>, answer?: number | "reset", stalledMs = 0): void {
    const nth = this.receivers.length;
    const request: SeenRequest = {
      nth,
      generation: 1,
      at: 1000,
      event: EVENT,
      delivery: "dlv_1",
      attempt: 1,
      body: createHash("sha256").update(ENVELOPE).digest("hex"),
      verified: true,
      reused: false,
      ...of,
    };
    this.receivers.push({ kind: "request", ...request });
    if (answer === undefined) return;
    this.receivers.push(
      { kind: "answer", nth, answer },
      { kind: "sent", nth, from: request.at, at: request.at + stalledMs },
    );
  }

  /** Publishes two more events of one key, one after the other, to an endpoint that gets them in order. */
  inLine(plan: string): readonly { readonly event: string; readonly delivery: string }[] {
    this.driver.push({ kind: "endpoint", id: "ep_ordered", name: plan });
    for (const n of [2, 3]) {
      const [event, delivery, marker] = [`evt_${n}`, `dlv_${n}0`, `m${n}`];
      const answered = [{ id: event, created_at: CREATED_AT, delivery_count: 1 }];
      this.driver.push(
        { kind: "intent", batch: n, type: "x", items: [{ marker, data: "{}", orderingKey: "key" }] },
        { kind: "ack", batch: n, answered, ...ACK },
      );
      const made = { id: delivery, endpoint: "ep_ordered", status: "delivered", attempts: 1, next_attempt_at: null };
      this.shown.events.push({ id: event, type: "x", data: { marker }, deliveries: [{ ...made, sequence: n - 1 }] });
      this.lined.push({ event, delivery });
    }
    return this.lined;
  }

  /** Sets the attempts that the API shows, of dlv_1 unless they name another delivery. */
  recorded(...attempts: Partial<ShownAttempt>[]): void {
    const all = attempts.map((attempt, index) => ({
      delivery: "dlv_1",
      number: index + 1,
      round: 1,
      outcome: "failed" as const,
      status_code: null,
      error: "connection_closed",
      duration_ms: 1,
      ...attempt,
    }));
    this.shown.attempts.set(attempts[0]?.delivery ?? "dlv_1", all);
  }

  killed(at: number, generation = 1): void {
    this.driver.push({ kind: "ended", generation, at, clean: false });
  }

  stopped(at: number): void {
    this.driver.push({ kind: "ended", generation: 1, at, clean: true });
  }

  verdict(): Findings {
    return judge(historyOf(this.driver, this.receivers), this.shown);
  }
}
