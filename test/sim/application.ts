/**
 * An application that publishes as the API does, and believes the responses. It repeats a request that was refused or
 * never answered, if it has an idempotency key.
 */
import { publish } from "../../src/api/publishing/publish.ts";
import type { ApiParts } from "../../src/api/parts.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { eventFingerprint } from "../../src/domain/events/idempotency.ts";
import type { Page, Publication, Store } from "../../src/store/store.ts";
import { withoutCapacity } from "../store/fixtures.ts";
import type { VirtualClock } from "./clock.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Acked } from "./invariants.ts";
import { DEADLY } from "./network.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { partly } from "../harness/partly.ts";

export const TENANTS = ["default", "acme"];
export const TYPES = ["budget.exceeded", "goal.achieved", "carbon.threshold"];
const NEVER = Number.MAX_SAFE_INTEGER;
/** The page is so small that the store reads it at once: no clock may move during a check. */
const PAGE = 50;

export interface ApplicationParts {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** The running process, if there is one. */
  readonly process: () => Process | null;
  /** Endpoints that have certainly chosen an event, and those that may have. */
  readonly endpoints: Pick<Endpoints, "subscribers" | "maybe">;
  readonly onAcked: (event: Acked) => void;
  readonly violations: string[];
}

/** A request, and the ids of its events once it was answered. */
interface Request {
  readonly drafts: readonly EventDraft[];
  readonly sentAt: number;
  /**
   * The endpoints that were certainly subscribed when the request was first sent, for each event. `maybe` has those
   * that may have been.
   */
  readonly certain: readonly (readonly string[])[];
  readonly maybe: readonly (readonly string[])[];
  readonly keyed: boolean;
  ids: readonly string[] | null;
  answeredAt: number;
}

/** The number of ordering keys of a tenant. */
const KEYS = 3;

export class Application {
  /** True if each event has an ordering key. */
  ordered = false;
  acked: Acked[] = [];
  readonly #parts: ApplicationParts;
  readonly #requests: Request[] = [];
  /** Events that exceeded the tenant's share and were not sent again. */
  readonly #refused = new Set<number>();
  #drafts = 0;
  #hasGivenUp = false;

  constructor(parts: ApplicationParts) {
    this.#parts = parts;
  }

  publish(burst: number, poison: string): void {
    const { clock, random } = this.#parts;
    const keyed = random.chance(0.5);
    // New names are stored with the event, and undone with it.
    const named = random.chance(0.2) ? `new.${random.between(0, 30)}` : null;
    const draft = (_: unknown, at: number): EventDraft => {
      const tenant = named !== null && random.chance(0.5) ? named : random.pick(TENANTS);
      const type = named !== null && random.chance(0.5) ? named : random.pick(TYPES);
      const createdAt = clock.now();
      const place = this.#drafts++;
      const data = Buffer.from(`{"n":9007199254740993,"kind":${place % 4},"place":${place}${at === 0 ? poison : ""}}`);
      const labels = { publisherId: null, tags: place % 3 === 0 ? ["vip"] : [] };
      const idempotency = {
        key: `key-${place}`,
        fingerprint: eventFingerprint(type, createdAt, data),
        expiresAt: NEVER,
      };
      return {
        tenant,
        type,
        createdAt,
        data,
        ...(place % 3 === 0 && { labels }),
        ...(keyed && { idempotency }),
        ...(this.ordered && { orderingKey: `key ${place % KEYS}` }),
      };
    };
    const drafts = Array.from({ length: burst }, draft);
    const { endpoints } = this.#parts;
    const sentAt = clock.monotonic;
    const certain = drafts.map((each) => endpoints.subscribers(each, sentAt));
    const maybe = drafts.map((each) => endpoints.maybe(each, sentAt));
    const request: Request = { drafts, sentAt, certain, maybe, keyed, ids: null, answeredAt: 0 };
    this.#requests.push(request);
    this.#send(request);
  }

  /**
   * The store is as it was at that time. Events answered since may be gone, and get other ids when they are sent again.
   */
  restored(then: number): void {
    const lost = this.#requests.filter(({ ids, answeredAt }) => ids !== null && answeredAt >= then);
    const ids = new Set(lost.flatMap((request) => request.ids!));
    for (const request of lost) request.ids = null;
    this.acked = this.acked.filter(({ id }) => !ids.has(id));
  }

  /**
   * Stops repeating requests. A request that is only now accepted would come too late for its deliveries to be judged.
   */
  giveUp(): void {
    this.#hasGivenUp = true;
  }

  #send(request: Request): void {
    const { clock, random, violations } = this.#parts;
    if (this.#hasGivenUp) return;
    if (request.keyed) {
      clock.at(clock.monotonic + random.between(500, 10_000), () => {
        if (request.ids === null || random.chance(0.2)) this.#send(request);
      });
    }
    const process = this.#parts.process();
    if (process === null) return;
    const parts = partly<ApiParts>({ store: process.store, deliveries: process.dispatcher });
    publish(parts, request.drafts, { now: clock.now() }).then(
      (publications) => process.alive && this.#answered(request, publications),
      (error: unknown) => {
        // A refusal is a WebhookdError. Any other error is a bug.
        if (!(error instanceof WebhookdError)) violations.push(`a publish failed: ${String(error)}`);
        else if (isRefusal(error) && !request.keyed)
          for (const each of request.drafts) this.#refused.add(placeOf(each.data));
      },
    );
  }

  #answered(request: Request, publications: readonly Publication[]): void {
    const { endpoints: all, onAcked, violations } = this.#parts;
    const ids = publications.map(({ id }) => id);
    if (request.ids !== null) {
      if (ids.join() !== request.ids.join()) violations.push(`V1: ${request.ids.join()} was answered as ${ids.join()}`);
      return;
    }
    request.ids = ids;
    request.answeredAt = this.#parts.clock.monotonic;
    ids.forEach((id, at) => {
      const { tenant, type, data } = request.drafts[at]!;
      const deadly = Buffer.from(data).includes(DEADLY);
      // The request was committed at some time since it was first sent.
      const still = new Set(all.subscribers(request.drafts[at]!, request.sentAt));
      const endpoints = request.certain[at]!.filter((endpoint) => still.has(endpoint));
      const atMost = [...new Set([...request.maybe[at]!, ...all.maybe(request.drafts[at]!, request.sentAt)])];
      const acked = { id, tenant, type, sentAt: request.sentAt, endpoints, atMost, deadly };
      this.acked.push(acked);
      onAcked(acked);
    });
  }

  /** V9, once nothing is pending: a tenant may use all of its share, and no more. */
  async checkShare(store: Store, share: number): Promise<void> {
    const { clock, endpoints, violations } = this.#parts;
    const now = clock.now();
    const data = Buffer.from('{"place":-1}');
    const drafts = TENANTS.flatMap((tenant) =>
      TYPES.map((type): EventDraft => ({ tenant, type, createdAt: now, data })),
    );
    const subscribers = (each: EventDraft) => endpoints.subscribers(each, clock.monotonic);
    for (const tenant of TENANTS) {
      // If a deletion was refused, it is unknown whether the endpoint still exists.
      const isKnown = (each: EventDraft) => endpoints.maybe(each, clock.monotonic).length === subscribers(each).length;
      const draft = drafts.find((each) => each.tenant === tenant && subscribers(each).length > 0 && isKnown(each));
      if (draft === undefined) continue;
      const fits = Math.floor(share / subscribers(draft).length);
      const isTaken = (count: number) => {
        const drafts = Array.from({ length: count }, () => draft);
        const isRefused = (error: unknown) => {
          if (!(error instanceof WebhookdError) || !isRefusal(error)) throw error;
          return false;
        };
        return store.events.publish(drafts, now, withoutCapacity).then(() => true, isRefused);
      };
      if (await isTaken(fits + 1)) violations.push(`V9: ${tenant} may have more pending than its share`);
      if (!(await isTaken(fits))) violations.push(`V9: ${tenant} has nothing pending, and is refused its share`);
    }
  }

  /** V1: there is one event for each key and for each response, and none that was never sent. */
  async check(store: Store): Promise<void> {
    const { violations } = this.#parts;
    const byPlace = new Map<number, string>();
    for (const id of await this.#all(store)) {
      const { data } = (await store.reads.getEvent(null, id))!;
      // An erased event has no data to compare.
      if (data === null) continue;
      const place = placeOf(data);
      if (this.#refused.has(place)) violations.push(`V1: ${id} was refused and is there`);
      const other = byPlace.get(place);
      if (other !== undefined) violations.push(`V1: ${id} and ${other} are the same event`);
      byPlace.set(place, id);
    }
  }

  async #all(store: Store): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const more = cursor === null ? {} : { cursor };
      const page: Page<{ id: string }> = await store.reads.listEvents({
        tenant: null,
        limit: PAGE,
        order: "oldest",
        ...more,
      });
      ids.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    return ids;
  }
}

function placeOf(data: Uint8Array): number {
  return (JSON.parse(Buffer.from(data).toString()) as { place: number }).place;
}

/** True if the tenant would have too many pending deliveries, now or at any time. */
function isRefusal({ code, errors }: WebhookdError): boolean {
  return code === "overloaded" || errors.some((each) => each.code === "fan_out_too_large");
}
