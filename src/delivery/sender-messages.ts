/** What the main thread and a sender's thread say to each other, in batches. */
import type { Job } from "../domain/delivery.ts";
import type { Target } from "../domain/endpoint.ts";
import type { SenderSettings } from "./open-sender.ts";
import type { Ended } from "./sending.ts";

export interface SenderThreadData {
  readonly settings: SenderSettings;
  /** A byte for each slot: 1 while the job in it is on the wire, so that a death of the thread tells who was. */
  readonly onWire: SharedArrayBuffer;
}

export type ToSender =
  | { readonly kind: "jobs"; readonly jobs: readonly PackedJob[]; readonly bodies: ArrayBuffer }
  | { readonly kind: "target"; readonly target: Target; readonly call: number }
  | { readonly kind: "forget"; readonly endpoint: string; readonly call: number }
  | { readonly kind: "drain"; readonly call: number }
  | { readonly kind: "pause" | "resume" | "abort" | "close" };

export type FromSender =
  | { readonly kind: "ended"; readonly batch: readonly Ended[]; readonly caps: readonly (readonly [string, number])[] }
  | { readonly kind: "answer"; readonly call: number; readonly result: unknown };

/** A job whose body lies among the others of its batch: one buffer is moved, where each for itself would be copied. */
export interface PackedJob extends Omit<Job, "body"> {
  readonly slot: number;
  readonly start: number;
  readonly end: number;
}

export interface SlottedJob extends Job {
  readonly slot: number;
}

export function packJobs(jobs: readonly SlottedJob[]): Extract<ToSender, { kind: "jobs" }> {
  let size = 0;
  for (const { body } of jobs) size += body.byteLength;
  const bodies = new Uint8Array(size);
  let start = 0;
  const packed = jobs.map(({ slot, event, delivery, endpoint, body, number, trigger, fresh, corrupt = false }) => {
    bodies.set(body, start);
    const end = start + body.byteLength;
    const job = { slot, event, delivery, endpoint, number, trigger, fresh, corrupt, start, end };
    start = end;
    return job;
  });
  return { kind: "jobs", jobs: packed, bodies: bodies.buffer };
}

export function unpackJobs({ jobs, bodies }: Extract<ToSender, { kind: "jobs" }>): SlottedJob[] {
  const all = Buffer.from(bodies);
  return jobs.map(({ start, end, ...job }) => ({ ...job, body: all.subarray(start, end) }));
}
