/** Endpoints of which something cannot be read: looked for at the start and each hour, told once, seen until mended. */
import type { Clock } from "../clock.ts";
import type { Endpoint } from "../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";

const LOOK_EVERY_MS = 60 * 60_000;
/** Rows that one turn of the event loop opens. */
const PAGE = 100;

export interface DamagedEndpointsParts {
  readonly store: Pick<Store, "endpoints">;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called once for each that is found. */
  readonly onFound: (endpoint: Endpoint) => void;
}

export class DamagedEndpoints {
  readonly #parts: DamagedEndpointsParts;
  readonly #known = new Map<string, Endpoint>();
  #lookAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | null = null;

  constructor(parts: DamagedEndpointsParts) {
    this.#parts = parts;
  }

  get all(): readonly Endpoint[] {
    return [...this.#known.values()];
  }

  /** To be called each second. */
  run(): Promise<void> {
    return (this.#running ??= this.#run().finally(() => {
      this.#running = null;
    }));
  }

  async #run(): Promise<void> {
    const { clock } = this.#parts;
    try {
      for (const { id } of this.all) this.#note(id, await this.#parts.store.endpoints.get(null, id));
      if (clock.monotonic() < this.#lookAt) return;
      await this.#look();
      this.#lookAt = clock.monotonic() + LOOK_EVERY_MS;
    } catch (error) {
      // What the store does not tell now, the next call asks again.
      if (!(error instanceof WebhookdError)) throw error;
    }
  }

  async #look(): Promise<void> {
    const { clock, store, signal } = this.#parts;
    let cursor: string | undefined;
    do {
      const page = await store.endpoints.list({
        tenant: null,
        limit: PAGE,
        order: "oldest",
        ...(cursor && { cursor }),
      });
      for (const endpoint of page.data) this.#note(endpoint.id, endpoint);
      cursor = page.nextCursor ?? undefined;
      await new Promise<void>((resolve) => clock.nextTurn(resolve));
    } while (cursor !== undefined && !signal.aborted);
  }

  #note(id: string, endpoint: Endpoint | null): void {
    const { log, onFound } = this.#parts;
    const before = this.#known.get(id);
    if (endpoint === null || endpoint.damaged === null) {
      if (this.#known.delete(id) && endpoint !== null) log.warn({ endpoint: id }, "the damaged endpoint was repaired");
      return;
    }
    this.#known.set(id, endpoint);
    if (before !== undefined) return;
    const { tenant, damaged } = endpoint;
    const found = { endpoint: id, tenant, parts: damaged.parts, reason: damaged.reason };
    log.error(found, "an endpoint is damaged: its deliveries wait until it is repaired; see webhookd doctor");
    onFound(endpoint);
  }
}
