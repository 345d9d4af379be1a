/** The event types that operators keep. */
import { deletionFault, capacityFault } from "../../../domain/events/catalogue.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventTypeStore, PutTypes, StoredTypes, TypeChange } from "../../store.ts";
import { addedIn, changedTypes, isChanged, typeOf } from "../../rows/type-row.ts";
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

  put(names: readonly string[], change: TypeChange): Promise<PutTypes> {
    return this.#engine.commitOrRefuse(() => {
      // Nothing is written before all of it is accepted.
      const types = attempt(() => changedTypes(names, (name) => this.#rows.get(name), change));
      if (types instanceof WebhookdError) return types;
      const refused = capacityFault(this.#rows.count, addedIn(types));
      if (refused !== null) return refused;
      const changed = types.filter(isChanged);
      for (const { type } of changed) this.#rows.put(type);
      return { types, revision: changed.length === 0 ? this.#engine.meta.typesRevision : this.#count() };
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
