/** Goes the way to a receiver that a delivery goes, up to where its request would be written, and hangs up. */
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../clock.ts";
import { Destination, Opening } from "./egress-guard.ts";
import { Egress, type EgressSettings } from "./egress.ts";
import { Fault } from "./fault.ts";

export interface Probed {
  readonly address: string;
  readonly durationMs: number;
  /** When the receiver's certificate ends, in epoch milliseconds; null where there is no TLS. */
  readonly certificateUntil: number | null;
}

/** A fault's message is a sentence. */
export type Probe = (url: URL, tenant: string) => Promise<Probed | Fault>;

export function createProbe(settings: EgressSettings, clock: Clock): Probe {
  const egress = new Egress(settings, clock);
  return (url, tenant) => probe(egress, new Destination(url, tenant), settings.timeoutMs);
}

function probe(egress: Egress, destination: Destination, timeoutMs: number): Promise<Probed | Fault> {
  const began = egress.clock.monotonic();
  return new Promise((resolve) => {
    const opening: Opening = new Opening(egress, destination, (result) => {
      cancelTimer();
      if (result instanceof Fault) return resolve(result);
      const until = destination.secure ? Date.parse((result as TLSSocket).getPeerCertificate().valid_to) : null;
      result.destroy();
      resolve({
        address: opening.remoteAddress!,
        durationMs: egress.clock.monotonic() - began,
        certificateUntil: until,
      });
    });
    const late = () => opening.cancel(new Fault("timeout", `waited ${timeoutMs} ms for ${opening.waitingFor}`));
    const cancelTimer = egress.clock.after(timeoutMs, late);
    opening.start();
  });
}
