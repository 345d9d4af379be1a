/**
 * The way in, put together: what comes to be held beside what is handed over with its commit. It is read when it falls
 * due, asked for by hand, or suspected of a death of the process.
 */
import { WebhookdError } from "../domain/errors.ts";
import type { DispatcherParts } from "./dispatcher-parts.ts";
import { DueReader } from "./due-reader.ts";
import { HorizonSweep } from "./horizon-sweep.ts";
import { ManualAttempts } from "./manual-attempts.ts";
import type { Outbound } from "./outbound.ts";
import { Room } from "./room.ts";
import { Suspects } from "./suspects.ts";
import { Waker } from "./waker.ts";

export interface InboundNews {
  /** Something has come to its end. */
  readonly onRest: () => void;
  /** Memory had lost deliveries of the endpoint, which can be read again. */
  readonly onRepaired: (endpoint: string) => Promise<void>;
}

export class Inbound {
  readonly suspects: Suspects;
  readonly manual: ManualAttempts;
  readonly room: Room;
  readonly waker: Waker;
  readonly sweep: HorizonSweep;
  readonly #onFault: (error: unknown) => void;

  constructor(parts: DispatcherParts, out: Outbound, { onRepaired, onRest }: InboundNews) {
    const { store } = parts;
    const { forgetting, sending, shift, targets, windows } = out;
    const onError = (error: unknown) => this.failed(error);
    this.#onFault = parts.onFault;
    const suspects = (this.suspects = suspectsOf(parts, out));
    this.manual = new ManualAttempts({
      ...parts,
      isHeld: ({ endpoint, delivery }) => windows.find(endpoint, delivery) !== undefined,
      hold: (claim) => windows.hold(claim),
      send: out.again,
      mayStart: (endpoint) => !out.stopping && !suspects.onTrial && !targets.isDamaged(endpoint),
      onRest,
    });
    const reader = new DueReader({
      ...parts,
      windows,
      targets,
      shift,
      roomFor: (endpoint) => this.room.forDue(endpoint),
      send: (endpoint, claims) => out.handing.send(endpoint, claims),
      stopping: () => out.stopping,
    });
    const pass = async () => {
      if (!suspects.onTrial) await reader.pass();
    };
    this.waker = new Waker({ clock: parts.clock, pass, nextDueAt: () => windows.nextDueAt, onRest, onError });
    this.room = new Room({ ...parts, windows, forgetting, sending, onRoom: () => this.waker.wake(), onError });
    this.sweep = new HorizonSweep({
      ...parts,
      windows,
      isSentTo: async (endpoint) => (await store.endpoints.target(endpoint))?.enabled === true,
      onRepaired: (endpoint) => void onRepaired(endpoint).catch(onError),
    });
  }

  /** A full disk moves and parks nothing; the next tick tries again. */
  failed(error: unknown): void {
    if (!(error instanceof WebhookdError)) this.#onFault(error);
  }
}

function suspectsOf(parts: DispatcherParts, { again, recorder, targets, windows }: Outbound): Suspects {
  return new Suspects({
    ...parts,
    // A disable takes back what was asked for by hand; what else is owed goes back to the disk.
    isOwed: async ({ trigger, delivery }) =>
      trigger !== "manual" || (await parts.store.deliveries.requestedAttempt(delivery)) !== null,
    hold: (claim) => windows.hold(claim),
    send: again,
    urlOf: async (endpoint) => (await targets.get(endpoint))?.url ?? "",
    record: (ended) => recorder.record([ended]),
  });
}
