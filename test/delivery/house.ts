import type { Clock } from "../../src/clock.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import type { SignedRequest } from "../../src/delivery/http/exchange.ts";
import { Signer } from "../../src/delivery/send/signer.ts";
import { Sender, type SenderParts } from "../../src/delivery/send/sender.ts";
import type { Outcome } from "../../src/domain/deliveries/attempt.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { silentLog, type Log } from "../../src/log.ts";
import type { Store } from "../../src/store/store.ts";

export interface HouseParts {
  readonly store: Store;
  readonly clock: Clock;
  /** Makes a request to the URL, and resolves to its outcome. */
  readonly post: (url: string, request: SignedRequest) => Promise<Outcome>;
  readonly onStart?: SenderParts["onStart"];
  readonly loadedBytes?: number;
  readonly maxInFlight?: number;
  readonly log?: Log;
}

/** Returns the real dispatcher and sender on the given store. The test provides the network. */
export function dispatcherOn(parts: HouseParts): Dispatcher {
  const { store, clock, post, onStart, loadedBytes = 64 * 1024 * 1024, maxInFlight = 4096, log = silentLog } = parts;
  return new Dispatcher({
    store,
    clock,
    ladder: SPECIFIED_LADDER,
    timeoutMs: 10_000,
    log,
    loadedBytes,
    onFault: (error) => {
      throw error;
    },
    sending: (onEnded) =>
      new Sender({
        clock,
        onEnded: (ended) => onEnded([ended]),
        ...(onStart && { onStart }),
        signer: (target) =>
          new Signer(target, { header: "X-Service-Signature", standardWebhooks: false, also: [], version: "0" }),
        open: ({ url }) => ({ post: (request) => post(url, request), abort() {}, close: async () => {} }),
        maxInFlight,
        endpointMaxInFlight: 256,
      }),
  });
}
