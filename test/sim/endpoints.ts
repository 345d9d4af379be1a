/** The endpoints of one run. An operator registers and deletes them as the API does, and remembers the responses. */
import { newId } from "../../src/domain/id.ts";
import { newSigningSecret } from "../../src/domain/endpoints/secret.ts";
import { newEndpoint } from "../store/fixtures.ts";
import { TENANTS, TYPES } from "./application.ts";
import { TIMEOUT_MS } from "./network.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { SimReceiver } from "./receiver.ts";

const MOST = 8;

export interface SimEndpoint {
  readonly url: string;
  readonly tenant: string;
  readonly types: readonly string[];
  /** True once the registration was answered. */
  added: boolean;
  /** True once the deletion was asked for. It may have happened. */
  leaving: boolean;
  /** The time when the deletion was answered. From then on nothing may be sent to the endpoint. */
  goneAt: number | null;
}

export class Endpoints {
  readonly all = new Map<string, SimEndpoint>();
  /** Receivers by URL. */
  readonly receivers = new Map<string, SimReceiver>();
  readonly #monotonic: () => number;
  readonly #setUp: (receiver: SimReceiver) => void;

  constructor(monotonic: () => number, setUp: (receiver: SimReceiver) => void) {
    this.#monotonic = monotonic;
    this.#setUp = setUp;
  }

  /** True for a receiver that never responds with 2xx, so that some deliveries fail for good. */
  isDead(url: string): boolean {
    return url.endsWith("dead");
  }

  /** Returns the endpoints that have certainly chosen this event. */
  subscribers(event: Chosen): string[] {
    return this.#which(event, ({ added, leaving }) => added && !leaving);
  }

  /** Returns the endpoints that may have chosen it. A request without a response may or may not have been stored. */
  maybe(event: Chosen): string[] {
    return this.#which(event, ({ goneAt }) => goneAt === null);
  }

  of(url: string): [id: string, endpoint: SimEndpoint] {
    return [...this.all].find(([, endpoint]) => endpoint.url === url)!;
  }

  /** Registers an endpoint. The first one may be dead. */
  register(process: Process, random: Random): Promise<unknown> {
    const at = this.all.size;
    const url = `https://receiver-${at}.example.com/${at === 0 && random.chance(0.4) ? "dead" : "hook"}`;
    const receiver = new SimReceiver(url, TIMEOUT_MS);
    const signingSecret = newSigningSecret((bytes) => random.bytes(bytes));
    receiver.secrets.give(signingSecret, 0);
    if (this.isDead(url)) receiver.behaviour = "error";
    this.#setUp(receiver);
    this.receivers.set(url, receiver);
    const id = newId("ep", 0, random.bytes(10));
    const types = TYPES.filter(() => random.chance(0.6));
    const tenant = random.pick(TENANTS);
    const endpoint: SimEndpoint = { url, tenant, types, added: false, leaving: false, goneAt: null };
    this.all.set(id, endpoint);
    const added = process.store.endpoints.add(newEndpoint({ id, tenant, url, events: types, signingSecret }), 100, 0);
    return added.then(() => (endpoint.added = process.alive));
  }

  /** Registers an endpoint or deletes one. */
  touch(process: Process, random: Random): void {
    const there = [...this.all].filter(([, { goneAt }]) => goneAt === null);
    const done =
      this.all.size < MOST && (there.length < 2 || random.chance(0.5))
        ? this.register(process, random)
        : this.#delete(process, random.pick(there));
    // A full disk refused it, so its effect is unknown.
    done.catch(() => {});
  }

  async #delete(process: Process, [id, endpoint]: [string, SimEndpoint]): Promise<void> {
    endpoint.leaving = true;
    await process.store.endpoints.delete(null, id, process.clock.now());
    await process.dispatcher.drop(id);
    if (process.alive) endpoint.goneAt = this.#monotonic();
  }

  #which({ tenant, type }: Chosen, may: (endpoint: SimEndpoint) => boolean): string[] {
    return [...this.all]
      .filter(([, endpoint]) => may(endpoint) && endpoint.tenant === tenant && endpoint.types.includes(type))
      .map(([id]) => id);
  }
}

export interface Chosen {
  readonly tenant: string;
  readonly type: string;
}
