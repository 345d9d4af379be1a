import type { Clock } from "../../clock.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import { connectionBudget, type ConnectionBudget } from "../../domain/files.ts";
import { Egress, openFilesLimit, type EgressSettings, type Network } from "../http/egress.ts";
import { Exchange } from "../http/exchange.ts";
import { Sender, type SenderParts, type Wire } from "./sender.ts";
import { Signer, type SignatureOptions } from "./signer.ts";
import { Tokens } from "./tokens.ts";
import { TokenWire } from "./token-wire.ts";

/** The settings that a sender is made from, as plain data that can be sent to a thread. */
export interface SenderSettings extends EgressSettings {
  /** The limit for this sender only. */
  readonly maxInFlight: number;
  /** The number of senders that share this process's open files. */
  readonly senders: number;
  readonly endpointMaxInFlight: number;
  /** The limit for all senders together. */
  readonly destinationMaxInFlight: number;
  readonly signature: SignatureOptions;
  /** The shared state of a `DatabaseClock`, for a thread. Without it the thread uses the host's clock. */
  readonly clockDistance?: SharedArrayBuffer | undefined;
}

/** Opens a sender on this thread, with its connections. */
export function openSender(
  settings: SenderSettings,
  clock: Clock,
  hooks: Pick<SenderParts, "onEnded" | "onStart">,
  network?: Network,
): Sender {
  const egress = new Egress(settings, clock, network);
  const share = (of: keyof ConnectionBudget) => connectionBudget(openFilesLimit())[of] / settings.senders;
  egress.maxResting = share("resting");
  const ofDestination = Math.ceil(settings.destinationMaxInFlight / settings.senders);
  egress.maxRestingAt = ofDestination;
  return new Sender({
    clock,
    ...hooks,
    open: wiresOf(egress, clock, settings.timeoutMs),
    signer: (target) => new Signer(target, settings.signature),
    maxInFlight: settings.maxInFlight,
    capacity: () => {
      egress.maxResting = share("resting");
      return Math.max(1, Math.floor(share("inFlight")));
    },
    endpointMaxInFlight: settings.endpointMaxInFlight,
    destinationMaxInFlight: ofDestination,
    onEgress: (rules) => egress.keepTo(rules),
    onClosed: () => egress.close(),
  });
}

/** Returns a function that opens the connections of an endpoint, with what its receiver asks for. */
function wiresOf(egress: Egress, clock: Clock, timeoutMs: number): (target: Target) => Wire {
  const open = (url: string, tenant: string) => new Exchange(egress, url, tenant);
  // The request itself needs the other half of the time.
  const tokens = new Tokens({ clock, open, limitMs: timeoutMs / 2 });
  return ({ url, tenant, auth, ca }) => {
    const identity = auth?.type === "mtls" ? auth : null;
    const exchange = new Exchange(egress, url, tenant, identity === null && ca === null ? null : { identity, ca });
    if (auth?.type !== "oauth2") return exchange;
    const client = tokens.join(tenant, auth);
    return new TokenWire({ clock, exchange, client, timeoutMs, leave: () => tokens.leave(tenant, auth) });
  };
}
