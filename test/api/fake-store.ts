import type { AuditEntry } from "../../src/domain/caller.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import type { ApiKey } from "../../src/domain/caller.ts";
import type { Condition, Publication, Store } from "../../src/store/store.ts";

/**
 * A store that only keeps keys and drafts, for tests of the code in front of the store and around it. Other methods
 * throw.
 */
export class FakeStore {
  readonly audited: AuditEntry[] = [];
  readonly drafts: EventDraft[] = [];
  readonly keys = new Map<string, ApiKey>();
  readonly touched: string[] = [];
  publishing: (drafts: readonly EventDraft[]) => Promise<void> = async () => {};
  ready: Condition["state"] = "ready";

  asStore(): Store {
    const publish: Store["events"]["publish"] = async (drafts) => {
      await this.publishing(drafts);
      return drafts.map((draft) => this.#publication(draft));
    };
    const keys: Pick<Store["keys"], "get" | "add" | "revoke" | "touch"> = {
      // Each read returns its own bytes, as a database does.
      get: async (id) => {
        const key = this.keys.get(id);
        return key === undefined ? null : { ...key, hash: key.hash.slice() };
      },
      add: async (key, now) =>
        void this.keys.set(key.id, {
          ...key,
          portal: key.portal ?? null,
          createdAt: now,
          lastUsedAt: null,
          revokedAt: null,
        }),
      revoke: async (id, now) => {
        this.keys.set(id, { ...this.keys.get(id)!, revokedAt: now });
        return true;
      },
      touch: (id) => void this.touched.push(id),
    };
    const roles = {
      events: { publish },
      keys,
      audit: { add: async (entry: AuditEntry) => void this.audited.push(entry) },
      upkeep: { condition: async () => ({ state: this.ready, trouble: null }) },
      operations: { damage: async () => null },
      ownership: { owns: null, stream: null },
      endpoints: { typesInUse: async () => [] },
      types: { list: async () => ({ revision: 0, types: [], deleted: [] }) },
    };
    return roles as object as Store;
  }

  #publication(draft: EventDraft): Publication {
    this.drafts.push(draft);
    const id = `evt_${String(this.drafts.length).padStart(26, "0")}`;
    return {
      id,
      type: draft.type,
      createdAt: draft.createdAt,
      deliveries: 0,
      fresh: [],
      waiting: [],
      duplicate: false,
    };
  }
}
