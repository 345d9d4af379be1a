import { deletionFault, isSameType, capacityFault, type StoredType } from "../../../domain/events/catalogue.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventTypeStore, PutType, StoredTypes } from "../../store.ts";
import { typeOf } from "../../rows/type-row.ts";
import type { Engine } from "../engine/engine.ts";
import { attempt } from "./endpoints.ts";
import type { TypeRows } from "./types.ts";

export class SqliteTypes implements EventTypeStore {
  readonly #engine: Engine;
  readonly #rows: TypeRows;

  constructor(engine: Engine, rows: TypeRows) {
    this.#engine = engine;
    this.#rows = rows;
  }

  async revision(): Promise<number> {
    return this.#engine.read(() => this.#engine.meta.typesRevision);
  }

  async list(): Promise<StoredTypes> {
    return this.#engine.read(() => {
      const rows = this.#rows.all();
      return {
        revision: this.#engine.meta.typesRevision,
        types: rows.filter((row) => row.deleted_at === null).map(typeOf),
        deleted: rows.filter((row) => row.deleted_at !== null).map(({ name }) => name),
      };
    });
  }

  put(name: string, change: (before: StoredType | null) => StoredType): Promise<PutType> {
    return this.#engine.commitOrRefuse(() => {
      const before = this.#rows.get(name);
      const type = attempt(() => change(before));
      if (type instanceof WebhookdError) return type;
      const isNew = before === null;
      const refused = isNew ? capacityFault(this.#rows.count) : null;
      if (refused !== null) return refused;
      if (!isNew && isSameType(before, type)) return { type, isNew, revision: this.#engine.meta.typesRevision };
      this.#rows.put(type);
      return { type, isNew, revision: this.#count() };
    });
  }

  delete(name: string, now: number): Promise<number | null> {
    return this.#engine.commitOrRefuse(() => {
      if (this.#rows.get(name) === null) return null;
      const refused = deletionFault(name, this.#rows.useOf(name));
      if (refused !== null) return refused;
      this.#rows.markDeleted(name, now);
      return this.#count();
    });
  }

  async revive(names: readonly string[]): Promise<void> {
    await this.#engine.commit.run(() => this.#rows.revive(names));
  }

  #count(): number {
    return (this.#engine.meta.typesRevision += 1);
  }
}
