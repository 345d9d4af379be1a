/**
 * Handles repeated requests with the same `Idempotency-Key` (`docs/interface.md` §2): the first 2xx answer is sent
 * again, and nothing is done twice. Requests without a key skip this file.
 */
import { isIdempotencyKey, requestFingerprint } from "../../domain/events/idempotency.ts";
import type { Store } from "../../store/store.ts";
import { namedTenant, oneTenantOf } from "./access.ts";
import type { Call, Route } from "./route.ts";
import type { Header, Reply } from "./reply.ts";
import { validationFailed } from "./body.ts";

export const REPLAYED: readonly Header[] = [["idempotency-replayed", "true"]];

export class Repeats {
  readonly #store: Pick<Store, "idempotency">;
  readonly #keptForMs: number;
  /** Promises by key. Each resolves when the request in progress with that key has been answered. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(store: Pick<Store, "idempotency">, keptForMs: number) {
    this.#store = store;
    this.#keptForMs = keptForMs;
  }

  /** `given` is the header's value. Throws `validation_failed`. */
  async answer(route: Route, call: Call, given: string | string[], path: string): Promise<Reply> {
    const { again } = route;
    const key = checkedKey(given);
    if (again === "itself") return route.handle({ ...call, idempotencyKey: key });
    const { keyId, isPortal } = call.principal;
    const request = {
      tenant: oneTenantOf(call.principal, namedTenant(call.query)),
      // A portal customer must not use up a key that the tenant's own requests will use, nor see the answers to them.
      key: isPortal ? `${keyId} ${key}` : key,
      fingerprint: requestFingerprint("POST", path, call.body),
      expiresAt: call.now + this.#keptForMs,
    };
    const keyed = { ...call, request };
    return this.#alone(`${request.tenant} ${request.key}`, async () => {
      const known = await this.#store.idempotency.recall(request, call.now);
      if (known !== null) return replayed(await (again?.(keyed, known) ?? (JSON.parse(known) as Reply)));
      const reply = await route.handle(keyed);
      if (again === undefined && reply.status < 300)
        await this.#store.idempotency.remember(request, JSON.stringify(reply));
      return reply;
    });
  }

  async #alone<T>(name: string, run: () => Promise<T>): Promise<T> {
    while (this.#underWay.has(name)) await this.#underWay.get(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.set(name, promise);
    try {
      return await run();
    } finally {
      this.#underWay.delete(name);
      resolve();
    }
  }
}

function replayed(reply: Reply): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...REPLAYED] };
}

function checkedKey(given: string | string[]): string {
  if (typeof given === "string" && isIdempotencyKey(given)) return given;
  const detail = "the Idempotency-Key header takes 1 to 255 visible ASCII characters";
  throw validationFailed([{ pointer: "", code: "invalid_idempotency_key", detail }]);
}
