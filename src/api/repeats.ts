/**
 * Requests that come again under an `Idempotency-Key` (`interface.md` §2): the first 2xx answer is given again, and
 * nothing is done twice. A request without a key never comes here.
 */
import type { IncomingMessage } from "node:http";
import { isIdempotencyKey, requestFingerprint } from "../domain/idempotency.ts";
import type { Store } from "../store/store.ts";
import type { Call, Header, Reply, Route } from "./route.ts";
import { namedTenant, tenantToWrite } from "./tenant.ts";
import { validationFailed } from "./validation.ts";

export const REPLAYED: readonly Header[] = [["idempotency-replayed", "true"]];

/** Of a POST; undefined without one. Throws `invalid_idempotency_key`. */
export function idempotencyKeyOf(req: IncomingMessage): string | undefined {
  const key = req.headers["idempotency-key"];
  if (key === undefined || req.method !== "POST") return undefined;
  if (typeof key === "string" && isIdempotencyKey(key)) return key;
  const detail = "the Idempotency-Key header takes 1 to 255 visible ASCII characters";
  throw validationFailed([{ pointer: "", code: "invalid_idempotency_key", detail }]);
}

export class Repeats {
  readonly #store: Pick<Store, "recall" | "remember">;
  readonly #keptForMs: number;
  /** Resolves when the one request of that key which is under way has been answered. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(store: Pick<Store, "recall" | "remember">, keptForMs: number) {
    this.#store = store;
    this.#keptForMs = keptForMs;
  }

  async answer(route: Route, call: Call, key: string, path: string): Promise<Reply> {
    const { again } = route;
    if (again === "itself") return route.handle({ ...call, idempotencyKey: key });
    const request = {
      tenant: tenantToWrite(call.principal, namedTenant(call.query)),
      key,
      fingerprint: requestFingerprint("POST", path, call.body),
      expiresAt: call.now + this.#keptForMs,
    };
    const keyed = { ...call, request };
    return this.#alone(`${request.tenant} ${request.key}`, async () => {
      const known = await this.#store.recall(request, call.now);
      if (known !== null) return replayed(await (again?.(keyed, known) ?? (JSON.parse(known) as Reply)));
      const reply = await route.handle(keyed);
      if (again === undefined && reply.status < 300) await this.#store.remember(request, JSON.stringify(reply));
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
