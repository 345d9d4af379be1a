import type { AuditEntry } from "../../src/domain/audit.ts";
import type { EventDraft } from "../../src/domain/event.ts";
import type { ApiKey } from "../../src/domain/key.ts";
import type { Publication, Store } from "../../src/store/store.ts";

/** Keeps keys and drafts only: for tests of what happens before and around the store. Other verbs throw. */
export class FakeStore {
  readonly audited: AuditEntry[] = [];
  readonly drafts: EventDraft[] = [];
  readonly keys = new Map<string, ApiKey>();
  readonly touched: string[] = [];
  publishing: (drafts: readonly EventDraft[]) => Promise<void> = async () => {};
  ready: ReturnType<Store["state"]> = "ready";

  asStore(): Store {
    const verbs: Partial<Store> = {
      getKey: async (id) => this.keys.get(id) ?? null,
      addKey: async (key, now) =>
        void this.keys.set(key.id, { ...key, createdAt: now, lastUsedAt: null, revokedAt: null }),
      revokeKey: async (id, now) => {
        this.keys.set(id, { ...this.keys.get(id)!, revokedAt: now });
        return true;
      },
      touchKey: (id) => void this.touched.push(id),
      addAudit: async (entry) => void this.audited.push(entry),
      state: () => this.ready,
      damage: async () => null,
      walTrouble: null,
      publish: async (drafts) => {
        await this.publishing(drafts);
        return drafts.map((draft) => this.#publication(draft));
      },
    };
    return verbs as Store;
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
