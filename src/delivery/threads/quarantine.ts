/**
 * Sends what was on the wire when a sender's thread died, one at a time on a separate thread. Any of it may have killed
 * the thread, and so the next death identifies the guilty delivery. At the third death its attempt counts as failed.
 */
import { deadly, noResponse, type Outcome } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import type { Log } from "../../log.ts";
import type { Outstanding, ThreadPort, ThreadPortParts } from "./thread-port.ts";
import { unawaited } from "../../domain/unawaited.ts";

const DIED = "the sender died during the attempt";

export interface QuarantineParts {
  /** Starts a thread that sends one at a time. */
  readonly start: (onDeath: ThreadPortParts["onDeath"]) => ThreadPort;
  readonly targetOf: (endpoint: string) => Target;
  readonly isPaused: () => boolean;
  /** Reports an outcome that no thread will report. */
  readonly onEnded: (send: Send, outcome: Outcome) => void;
  readonly log: Log;
}

export class Quarantine {
  readonly #parts: QuarantineParts;
  thread: ThreadPort | null = null;
  /** The number of threads that died while this delivery, alone or among others, was on the wire. */
  readonly deaths = new Map<string, number>();
  readonly #suspects: Send[] = [];
  #trying = false;

  constructor(parts: QuarantineParts) {
    this.#parts = parts;
  }

  /** A thread died while these were on the wire. */
  suspect(outstanding: readonly Outstanding[], more = 1): void {
    for (const { send, takenBack } of outstanding) {
      const { event, delivery, endpoint } = send;
      const deaths = (this.deaths.get(delivery) ?? 0) + more;
      this.deaths.set(delivery, deaths);
      const outcome = deadly(deaths, "sender");
      if (outcome !== null) {
        this.deaths.delete(delivery);
        this.#parts.log.error({ event, delivery, endpoint }, outcome.detail);
        this.#parts.onEnded(send, outcome);
      } else if (takenBack) {
        this.#parts.onEnded(send, noResponse("interrupted", DIED, 0, { ours: false }));
      } else this.#suspects.push(send);
    }
    this.next();
  }

  /** Gives back what the endpoint has waiting here, by delivery id. */
  forget(endpoint: string): string[] {
    const suspects = this.#suspects.filter((send) => send.endpoint === endpoint);
    for (const send of suspects) this.#suspects.splice(this.#suspects.indexOf(send), 1);
    return suspects.map(({ delivery }) => delivery);
  }

  /**
   * Starts the next suspect, unless sending is paused. After a drain, suspects stay on the disk for the next start of
   * the daemon.
   */
  next(): void {
    if (!this.#parts.isPaused()) this.try();
  }

  /** Starts the next suspect even if sending is paused. */
  try(): void {
    if (this.#trying) return;
    const send = this.#suspects.shift();
    if (send === undefined) {
      unawaited(this.thread?.close());
      this.thread = null;
      return;
    }
    this.#trying = true;
    const thread = (this.thread ??= this.#parts.start((outstanding, began) => {
      this.thread = null;
      this.#trying = false;
      // If the thread could not start, no delivery killed it.
      this.suspect(outstanding, began ? 1 : 0);
    }));
    unawaited(thread.ask({ kind: "target", target: this.#parts.targetOf(send.endpoint) }));
    thread.tell({ kind: "resume" });
    thread.send([send]);
    unawaited(
      thread.ask({ kind: "drain" }).then(() => {
        // This also resolves if the thread died, which `onDeath` handles.
        if (this.thread !== thread || thread.outstanding > 0) return;
        this.#trying = false;
        this.next();
      }),
    );
  }
}
