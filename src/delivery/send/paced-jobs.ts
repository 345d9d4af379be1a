/**
 * Starts a job's deliveries at the job's pace. The first delivery of each job and endpoint enters its endpoint's queue
 * when the pace allows, like any other delivery, and the next one only after that one has started. So the pace holds
 * for starts, however long an endpoint had no free slot.
 *
 *   add ──► waiting ──its pace──► handed over ──its turn──► started
 *
 * Times are monotonic milliseconds.
 */
import type { Send } from "../../domain/deliveries/delivery.ts";
import { Timetable, type Scheduled } from "../../domain/time/timetable.ts";
import { EvenPace } from "../../domain/time/token-bucket.ts";
import { Fifo } from "./endpoint-queue.ts";

class Lane implements Scheduled {
  readonly key: string;
  readonly endpoint: string;
  readonly pace: EvenPace;
  readonly sends = new Fifo<Send>();
  /** True if a send was handed over and has not started. */
  out = false;
  wakeAt = 0;
  heapAt = -1;

  constructor(key: string, endpoint: string, perSecond: number) {
    this.key = key;
    this.endpoint = endpoint;
    this.pace = new EvenPace(perSecond);
  }
}

export class PacedJobs {
  readonly #lanes = new Map<string, Lane>();
  readonly #sleeping = new Timetable<Lane>();

  /** The time at which `take` may return something. Infinity if nothing waits for its pace. */
  get wakeAt(): number {
    return this.#sleeping.wakeAt;
  }

  /** The send must have a pace. */
  add(send: Send): void {
    const key = keyOf(send);
    let lane = this.#lanes.get(key);
    if (lane === undefined) this.#lanes.set(key, (lane = new Lane(key, send.endpoint, send.pace!.perSecond)));
    lane.sends.push(send);
    if (!lane.out) this.#sleep(lane);
  }

  /** Returns the next send that the pace allows now. */
  take(now: number): Send | undefined {
    for (let lane = this.#sleeping.take(now); lane !== undefined; lane = this.#sleeping.take(now)) {
      const send = lane.sends.shift();
      lane.out = send !== undefined;
      if (send !== undefined) return send;
      // The lane is empty and its time has passed, so a new one would start at once just the same.
      this.#lanes.delete(lane.key);
    }
    return undefined;
  }

  started(send: Send, now: number): void {
    const lane = this.#lanes.get(keyOf(send));
    if (lane === undefined) return;
    lane.out = false;
    lane.pace.take(now);
    this.#sleep(lane);
  }

  /**
   * Takes back the deliveries of the endpoint that wait here. The ones that were handed over are taken back from its
   * queue instead.
   */
  forget(endpoint: string): Send[] {
    const lanes = [...this.#lanes.values()].filter((lane) => lane.endpoint === endpoint);
    return lanes.flatMap((lane) => {
      lane.out = false;
      this.#sleep(lane);
      return lane.sends.drain();
    });
  }

  #sleep(lane: Lane): void {
    if (lane.heapAt === -1) this.#sleeping.add(lane, lane.pace.readyAt);
  }
}

function keyOf({ pace, endpoint }: Send): string {
  return `${pace!.job} ${endpoint}`;
}
