import type { Clock } from "../clock.ts";
import { Egress, type EgressParts } from "./egress.ts";
import { Exchange } from "./exchange.ts";
import { Signer, type SignatureOptions } from "./request.ts";
import { createResolve } from "./resolver.ts";
import { Sender, type SenderParts } from "./sender.ts";
import type { EgressRules } from "./sending.ts";

/** All that a sender is made from, as plain data, so that it can be sent to a thread. */
export interface SenderSettings {
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly endpointMaxInFlight: number;
  readonly signature: SignatureOptions;
  readonly egress: EgressRules & {
    readonly resolver: "c-ares" | "system";
    readonly caFile: string;
  };
  readonly ownAddresses: readonly string[];
  /** `--dev`: receivers may be services of this machine. */
  readonly dev: boolean;
}

/** What a test puts in the place of the real network. */
export type Network = Partial<Pick<EgressParts, "resolve" | "dial" | "bodyMs">>;

export interface OpenSenderParts extends Pick<SenderParts, "onEnded" | "onStart"> {
  readonly clock: Clock;
  readonly network?: Network;
}

/** A sender on this thread, with its way out. */
export function openSender(settings: SenderSettings, { clock, network, ...hooks }: OpenSenderParts): Sender {
  const { ownAddresses, timeoutMs, dev } = settings;
  const { resolver, caFile } = settings.egress;
  const policyOf = ({ allowCidrs, denyCidrs }: EgressRules) => {
    return { allowCidrs, denyCidrs, ownAddresses, allowLoopback: dev };
  };
  const egress = new Egress({
    clock,
    policy: policyOf(settings.egress),
    resolve: createResolve(resolver, dev),
    timeoutMs,
    caFile,
    ...network,
  });
  return new Sender({
    clock,
    ...hooks,
    open: (url) => new Exchange(egress, url),
    signer: (target) => new Signer(target, settings.signature),
    maxInFlight: settings.maxInFlight,
    endpointMaxInFlight: settings.endpointMaxInFlight,
    onEgress: (rules) => {
      egress.policy = policyOf(rules);
    },
    onClosed: () => egress.close(),
  });
}
