/**
 * The endpoints of one run. An operator registers, changes and deletes them as the API does, and remembers the
 * responses.
 */
import { newId } from "../../src/domain/id.ts";
import { newSigningSecret } from "../../src/domain/endpoints/secret.ts";
import { newEndpoint } from "../store/fixtures.ts";
import { TENANTS, TYPES } from "./application.ts";
import { type Choice, Chosen, drawChoice, takes, type Event } from "./choices.ts";
import { TIMEOUT_MS } from "./network.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { SimReceiver } from "./receiver.ts";

const MOST = 8;

export interface SimEndpoint {
  readonly url: string;
  readonly tenant: string;
  readonly chosen: Chosen;
  /** True once the registration was answered. */
  added: boolean;
  /** True once the deletion was requested. It may have happened. */
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

  /** True if endpoints get the events of each ordering key in order. */
  ordered = false;

  constructor(monotonic: () => number, setUp: (receiver: SimReceiver) => void) {
    this.#monotonic = monotonic;
    this.#setUp = setUp;
  }

  /** True for a receiver that never responds with 2xx, so that some deliveries fail for good. */
  isDead(url: string): boolean {
    return url.endsWith("dead");
  }

  /** Returns the endpoints that have certainly chosen this event at every moment since then. */
  subscribers(event: Event, since: number): string[] {
    return this.#which(event, ({ added, leaving, chosen }) => {
      return added && !leaving && chosen.since(since).every((choice) => takes(choice, event));
    });
  }

  /**
   * Returns the endpoints that may have chosen it at some moment since then. A request without a response may or may
   * not have been stored.
   */
  maybe(event: Event, since: number): string[] {
    return this.#which(event, ({ goneAt, chosen }) => {
      return (goneAt === null || goneAt >= since) && chosen.since(since).some((choice) => takes(choice, event));
    });
  }

  of(url: string): [id: string, endpoint: SimEndpoint] {
    return [...this.all].find(([, endpoint]) => endpoint.url === url)!;
  }

  /** Registers an endpoint. The first one may be dead. `ofChoices` draws patterns and filters. */
  register(process: Process, random: Random, ofChoices: Random | null): Promise<unknown> {
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
    const choice = ofChoices === null ? plainly(types) : drawChoice(ofChoices);
    const endpoint: SimEndpoint = {
      url,
      tenant,
      chosen: new Chosen(choice),
      added: false,
      leaving: false,
      goneAt: null,
    };
    receiver.signing = { tenant, isAsked: (since) => endpoint.chosen.since(since).map(({ signatures }) => signatures) };
    this.all.set(id, endpoint);
    // Behind a dead receiver's events each other one of the key would wait for a whole ladder.
    const ordering = this.ordered && !this.isDead(url) ? "by_key" : "none";
    const added = process.store.endpoints.add(
      newEndpoint({ id, tenant, url, ordering, ...choice, signingSecret }),
      100,
      0,
    );
    return added.then(() => (endpoint.added = process.alive));
  }

  /** Changes what an endpoint receives. */
  async choose(process: Process, ofChoices: Random): Promise<void> {
    const there = [...this.all].filter(([, { goneAt }]) => goneAt === null);
    if (there.length === 0) return;
    const [id, { chosen }] = ofChoices.pick(there);
    const choice = drawChoice(ofChoices);
    const answered = chosen.asked(choice, this.#monotonic());
    const change = process.store.endpoints.update(null, id, (all) => ({ ...all, ...choice }), process.clock.now());
    // A full disk refused it, or a type was deleted.
    const changed = await change.catch(() => null);
    if (changed === null) return;
    await process.dispatcher.refresh(id);
    if (process.alive) answered(this.#monotonic());
  }

  /** Registers an endpoint or deletes one. */
  touch(process: Process, random: Random, ofChoices: Random | null): void {
    const there = [...this.all].filter(([, { goneAt }]) => goneAt === null);
    const done =
      this.all.size < MOST && (there.length < 2 || random.chance(0.5))
        ? this.register(process, random, ofChoices)
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

  #which({ tenant }: Event, may: (endpoint: SimEndpoint) => boolean): string[] {
    return [...this.all].filter(([, endpoint]) => endpoint.tenant === tenant && may(endpoint)).map(([id]) => id);
  }
}

function plainly(events: readonly string[]): Choice {
  return { events, filter: null, signatures: ["hmac"] };
}
