/** Wraps a store, so that a test can intercept its methods. */
import type { Store } from "../../src/store/store.ts";

/** The names of the store's methods. A test that names one that no longer exists does not compile. */
export type StoreMethod = { [R in keyof Store & string]: `${R}.${keyof NonNullable<Store[R]> & string}` }[keyof Store &
  string];

/** Runs in place of a method. The name is like `events.publish`, and `call` calls the real method. */
export type Around = (name: StoreMethod, call: () => unknown, given: readonly any[]) => unknown;

export function around(store: Store, verb: Around): Store {
  return new Proxy(store, {
    get: (target, role) => {
      const member = Reflect.get(target, role, target) as object;
      if (typeof member === "function") return member.bind(target) as unknown;
      return new Proxy(member, {
        get: (_, name) => {
          const method = Reflect.get(member, name, member) as unknown;
          if (typeof method !== "function") return method;
          const full = `${String(role)}.${String(name)}` as StoreMethod;
          // It hands over what is committed, at once.
          if (full === "deliveries.reordered") return method.bind(member) as unknown;
          return (...given: unknown[]) => verb(full, () => method.apply(member, given) as unknown, given);
        },
      });
    },
  });
}
