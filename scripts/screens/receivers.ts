/** The receivers in the pictures: hosts such as customers have, and their responses at each hour. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Network } from "../../src/delivery/http/egress.ts";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const EVERY_TYPE = BUILT_IN_TYPES.map(({ name }) => name);
const HOUR = 3_600_000;
export const BEGAN_HOURS_AGO = 58;

/** Null means that the connection is cut. */
type Answer = 200 | 204 | 404 | 503 | null;

export interface Receiver {
  readonly host: string;
  readonly path: string;
  readonly types: readonly string[];
  readonly description: string;
  /** The approximate time until the response. */
  readonly latencyMs: number;
  readonly answer: (hoursAgo: number) => Answer;
}

export const RECEIVERS: readonly Receiver[] = [
  {
    host: "hooks.northwind.example",
    path: "/in/7f3",
    types: EVERY_TYPE,
    description: "Northwind ledger",
    latencyMs: 40,
    answer: () => 200,
  },
  {
    host: "api.contoso.example",
    path: "/webhooks",
    types: ["transaction.enriched", "transaction.refund_matched"],
    description: "Contoso feed",
    latencyMs: 75,
    answer: (ago) => (ago > 9 && ago < 10 ? 503 : 204),
  },
  {
    host: "billing.fabrikam.example",
    path: "/events",
    types: ["budget.exceeded", "goal.achieved"],
    description: "Fabrikam billing",
    latencyMs: 20,
    answer: (ago) => (ago < 54 ? 503 : 200),
  },
  {
    host: "crm.adatum.example",
    path: "/inbound",
    types: ["subscription.detected", "goal.achieved"],
    description: "Adatum CRM",
    latencyMs: 55,
    answer: (ago) => (ago < 2.5 ? null : 200),
  },
  {
    host: "carbon.tailspin.example",
    path: "/v2/hooks",
    types: ["carbon.threshold"],
    description: "Tailspin carbon",
    latencyMs: 30,
    answer: (ago) => (ago < 53 && ago > 3 ? 404 : 200),
  },
];

const BODIES: Readonly<Record<number, string>> = {
  404: '{"error":"no such hook"}',
  503: '{"error":"upstream unavailable","retry":true}',
};
/** A network of addresses for documentation (RFC 5737). */
export const NETWORK = "203.0.113.0/24";

/** Serves all receivers on one port of this machine, under their own names and addresses. */
export class Receivers {
  readonly #server = createServer((request, response) => unawaited(this.#answer(request, response)));
  readonly #now: () => number;
  readonly #began: number;
  #served = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#began = now();
  }

  async open(): Promise<Network> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    return {
      resolve: async (host) => [`203.0.113.${10 + RECEIVERS.findIndex((one) => isOf(one, host))}`],
      dial: (ip) => {
        const socket = connect(port, "127.0.0.1");
        Object.defineProperty(socket, "remoteAddress", { get: () => ip });
        return socket;
      },
    };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const receiver = RECEIVERS.find((one) => isOf(one, request.headers.host ?? ""))!;
    const hoursAgo = BEGAN_HOURS_AGO - (this.#now() - this.#began) / HOUR;
    request.resume();
    await once(request, "end");
    await sleep(receiver.latencyMs * (0.7 + ((this.#served++ * 7) % 10) / 12));
    const status = receiver.answer(hoursAgo);
    if (status === null) request.socket.destroy();
    else response.writeHead(status, { "content-type": "application/json" }).end(BODIES[status] ?? "");
  }
}

/** True if the host is this receiver's, whatever its top-level domain is. */
function isOf(receiver: Receiver, host: string): boolean {
  return host.startsWith(receiver.host.replace(/example$/, ""));
}
