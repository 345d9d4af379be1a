/**
 * Another `secret.key` under a store in use, by the steps of `key-change.ts`. Whatever is asked of the store between
 * two steps is sealed and opened with the key of before; between the transaction and the change of the box there is no
 * turn in which anything could be asked.
 */
import { existsSync } from "node:fs";
import { WebhookdError } from "../../../domain/errors.ts";
import { finishKeyChange, isKeyOf, requireWithin, requireWritable, stageKey, type KeyPlace } from "./key-change.ts";
import { StoreRefused } from "../../files/refused.ts";
import { readSecretKey } from "../../files/key-files.ts";
import type { Rekeyed } from "../../store.ts";
import type { Engine } from "../engine/engine.ts";
import { Resealing } from "./sealed-rows.ts";

export class Rekey {
  readonly #engine: Engine;
  readonly #place: KeyPlace;
  #running: Promise<Rekeyed> | null = null;
  #closed = false;

  constructor(engine: Engine, place: KeyPlace) {
    this.#engine = engine;
    this.#place = place;
  }

  run(): Promise<Rekeyed> {
    this.#running ??= this.#change().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Null while none is being done. */
  get running(): Promise<Rekeyed> | null {
    return this.#running;
  }

  close(): void {
    this.#closed = true;
  }

  async #change(): Promise<Rekeyed> {
    const { box, commit, db, random, read } = this.#engine;
    const { secretKeyFile: file } = this.#place;
    refusing("key_not_changeable", () => this.#requireChangeable());
    // One that failed after its commit left the store's only key beside the file.
    this.#takeName();
    refusing("key_not_changeable", () => this.#requireOwnKey());
    const key = Buffer.from(random(32));
    const next = box.successor(key);
    const resealing = read(() => new Resealing(db, box, next));
    while (read(() => resealing.step())) {
      await this.#engine.turn();
      if (this.#closed) throw new WebhookdError("shutting_down", "the daemon is stopping; nothing was changed");
    }
    refusing("rekey_failed", () => stageKey(this.#place, key));
    // What is staged stays if this fails: the next change, or start, knows whether it is needed.
    const done = commit.runNow(() => resealing.write());
    box.become(next);
    return { keyFile: file, keyId: box.keyId, kept: this.#takeName(), ...done };
  }

  #requireChangeable(): void {
    const { secretKeyFile: file } = this.#place;
    requireWithin(this.#place);
    if (existsSync(file)) requireWritable(file);
  }

  #requireOwnKey(): void {
    const { meta } = this.#engine;
    const { secretKeyFile: file } = this.#place;
    if (!existsSync(file) || isKeyOf(meta.keyCheck, readSecretKey(file))) return;
    const hint = "put the right one back from your copy, or move this one away. Nothing was changed";
    throw new StoreRefused(1, `${file} is not the key that this store is sealed with`, hint);
  }

  #takeName(): string | null {
    const { meta, read } = this.#engine;
    const { secretKeyFile: file } = this.#place;
    try {
      return finishKeyChange(this.#place, () => read(() => meta.keyCheck))?.kept ?? null;
    } catch (error) {
      if (error instanceof WebhookdError) throw error;
      const { message } = error as Error;
      throw new WebhookdError(
        "rekey_failed",
        `everything is sealed with a new key, but its file could not be renamed (${message}): it is ${file}.next, keep that file; ask again, or start the daemon again, once the directory can be written`,
        { cause: error },
      );
    }
  }
}

/** What the file system or a person has to mend is the caller's to know. */
function refusing(code: "key_not_changeable" | "rekey_failed", work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof WebhookdError) throw error;
    const { message, hint } = error as Error & { readonly hint?: string };
    const todo = hint ?? "check its directory; nothing was changed";
    throw new WebhookdError(code, `${message}: ${todo}`, { cause: error });
  }
}
