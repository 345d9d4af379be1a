/** The verbs about the audit trail: `../../audit.ts`. */
import type { AuditEntry } from "../../../domain/audit.ts";
import type { Audit } from "./audit.ts";
import { CHUNK_SIZE, type Doors } from "../engine/doors.ts";

interface Parts extends Doors {
  readonly audit: Audit;
}

export class AuditVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async addAudit(entry: AuditEntry, now: number): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.audit.add(entry, now));
  }

  async pruneAudit(before: number): Promise<number> {
    return this.#parts.commit.run(() => this.#parts.audit.prune(before), CHUNK_SIZE);
  }
}
