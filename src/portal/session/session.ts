/** The session: the key of a link or of an operator, its rights, and the look of the page. */
import { createContext, use, useCallback, useSyncExternalStore } from "react";
import type { Ask, Client } from "../../client/client.ts";
import type { Answers, Portal } from "../../client/operations.ts";
import type { Patch, Reading, Reads } from "../server/reads.ts";

type Scope = Portal["can"][number];

export interface Session {
  readonly portal: Portal;
  readonly client: Client;
  readonly reads: Reads;
  /** The tenant that an operator chose. Undefined if the key implies it, or if all are shown. */
  readonly tenant: string | undefined;
  chooseTenant(tenant: string | undefined): void;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  return use(SessionContext)!;
}

export function useCan(scope: Scope): boolean {
  return useSession().portal.can.includes(scope);
}

/**
 * `about` is the endpoint whose changes affect the response, null if any endpoint's do, or `NONE`. A null `ask` reads
 * nothing. `patch` must be the same function each time.
 */
export function useRead<O extends keyof Answers>(
  operation: O,
  ask: Ask | null,
  about: string | null = null,
  patch?: Patch<Answers[O]>,
): Reading<Answers[O]> & { again(): void } {
  const { reads, tenant } = useSession();
  const asked = ask && JSON.stringify(OF_NO_TENANT.includes(operation) ? ask : inTenant(ask, tenant));
  const key = `${operation} ${asked}`;
  const subscribe = useCallback(
    (listener: () => void) =>
      asked === null ? () => {} : reads.follow({ key, about, patch }, operation, JSON.parse(asked) as Ask, listener),
    [reads, key, about, patch, operation, asked],
  );
  const reading = useSyncExternalStore(subscribe, () => reads.reading<Answers[O]>(key));
  return { ...reading, again: () => reads.again(key) };
}

/**
 * Returns a function for calls that change something, after each of which the screen is read again. The function throws
 * a `ClientError`.
 */
export function useCall() {
  const { client, reads, tenant } = useSession();
  return async <O extends keyof Answers>(operation: O, ask: Ask = {}): Promise<Answers[O]> => {
    try {
      return await client.call(operation, inTenant(ask, tenant));
    } finally {
      reads.acted();
    }
  };
}

/** Operations whose responses are the same for all tenants. */
const OF_NO_TENANT: readonly (keyof Answers)[] = ["listEventTypes", "listTenants"];

export function inTenant(ask: Ask, tenant: string | undefined): Ask {
  return tenant === undefined ? ask : { ...ask, query: { ...ask.query, tenant } };
}
