/** Goes the way to a receiver that a delivery goes, up to where its request would be written, and hangs up. */
import type { TLSSocket } from "node:tls";
import type { Clock } from "../clock.ts";
import { Destination, Opening } from "./connector.ts";
import { Egress, trust } from "./egress.ts";
import { Fault } from "./fault.ts";
import { createResolve } from "./resolver.ts";

export interface ProbeSettings {
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
  readonly resolver: "c-ares" | "system";
  readonly caFile: string;
  readonly ownAddresses: readonly string[];
  readonly dev: boolean;
  readonly timeoutMs: number;
}

export interface Probed {
  readonly address: string;
  readonly durationMs: number;
  /** When the receiver's certificate ends, in epoch milliseconds; null where there is no TLS. */
  readonly certificateUntil: number | null;
}

/** A fault's message is a sentence. */
export type Probe = (url: URL) => Promise<Probed | Fault>;

export function createProbe(settings: ProbeSettings, clock: Clock): Probe {
  const { allowCidrs, denyCidrs, ownAddresses, dev, timeoutMs } = settings;
  const egress = new Egress({
    clock,
    policy: { allowCidrs, denyCidrs, ownAddresses, allowLoopback: dev },
    resolve: createResolve(settings.resolver, dev),
    secureContext: trust(settings.caFile),
    timeoutMs,
  });
  return (url) => probe(egress, url, timeoutMs);
}

function probe(egress: Egress, url: URL, timeoutMs: number): Promise<Probed | Fault> {
  const began = egress.clock.monotonic();
  const destination = new Destination(url);
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
