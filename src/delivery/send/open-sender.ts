import type { Clock } from "../../clock.ts";
import { AddressPolicy, type AddressRules } from "../../domain/address.ts";
import { roomWithin, type Room } from "../../domain/open-files.ts";
import type { AskResolvers } from "../http/ask-resolvers.ts";
import { Egress, type EgressParts } from "../http/egress.ts";
import { Exchange } from "../http/exchange.ts";
import { readOwnAddresses } from "../http/own-addresses.ts";
import { Signer, type SignatureOptions } from "./signed-request.ts";
import { openFilesLimit } from "../http/own-limits.ts";
import { createResolve } from "../http/resolver.ts";
import { Sender, type SenderParts } from "./sender.ts";

/** All that a sender is made from, as plain data, so that it can be sent to a thread. */
export interface SenderSettings {
  readonly timeoutMs: number;
  /** Of this sender. */
  readonly maxInFlight: number;
  /** How many senders share this process's files. */
  readonly senders: number;
  readonly endpointMaxInFlight: number;
  readonly signature: SignatureOptions;
  readonly addresses: AddressRules;
  readonly resolver: "c-ares" | "system";
  readonly caFile: string;
}

/** What a test puts in the place of the real network. */
export type Network = Partial<Pick<EgressParts, "resolve" | "dial" | "bodyMs">> & {
  readonly ownAddresses?: () => readonly string[];
  readonly askResolvers?: AskResolvers;
};

export interface OpenSenderParts extends Pick<SenderParts, "onEnded" | "onStart"> {
  readonly clock: Clock;
  readonly network?: Network;
}

/** A sender on this thread, with its way out. */
export function openSender(settings: SenderSettings, { clock, network, ...hooks }: OpenSenderParts): Sender {
  const { addresses, resolver, timeoutMs, caFile } = settings;
  const { ownAddresses = readOwnAddresses(clock), ...others } = network ?? {};
  const share = (of: keyof Room) => roomWithin(openFilesLimit())[of] / settings.senders;
  let restRoom = share("resting");
  const egress = new Egress({
    clock,
    restRoom: () => restRoom,
    policy: new AddressPolicy(addresses, ownAddresses),
    resolve: createResolve(resolver, addresses.allowLoopback),
    timeoutMs,
    caFile,
    ...others,
  });
  return new Sender({
    clock,
    ...hooks,
    open: ({ url, tenant }) => new Exchange(egress, url, tenant),
    signer: (target) => new Signer(target, settings.signature),
    maxInFlight: settings.maxInFlight,
    room: () => {
      restRoom = share("resting");
      return Math.max(1, Math.floor(share("inFlight")));
    },
    endpointMaxInFlight: settings.endpointMaxInFlight,
    onEgress: (rules) => {
      egress.policy = new AddressPolicy(rules, ownAddresses);
    },
    onClosed: () => egress.close(),
  });
}
