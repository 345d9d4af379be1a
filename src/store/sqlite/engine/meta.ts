/** Facts about the store as a whole, stored by name. */
import type { Database, Statement } from "better-sqlite3";
import type { Pause } from "../../../domain/deliveries/pause.ts";
import { StoreRefused } from "../../files/refused.ts";
import type { BackupFile, Damage, OpenMove } from "../../store.ts";
import type { Box } from "../../rows/box.ts";
import { TYPES_REVISION } from "../../rows/type-row.ts";

export class Meta {
  readonly #select: Statement<[string], string | number>;
  readonly #upsert: Statement<[string, string | number]>;
  readonly #delete: Statement<[string]>;

  constructor(db: Database) {
    this.#select = db.prepare<[string], string | number>("SELECT value FROM meta WHERE name = ?").pluck();
    this.#upsert = db.prepare(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
    this.#delete = db.prepare("DELETE FROM meta WHERE name = ?");
  }

  /** Stores a check value, so that a later start can tell whether it has the right key before it signs anything. */
  setKey(box: Box): void {
    this.#upsert.run("key_id", box.keyId);
    this.#upsert.run("key_check", box.sealCheck());
  }

  requireKey(box: Box, file: string): void {
    if (box.opensCheck(this.keyCheck)) return;
    throw new StoreRefused(
      1,
      `the secret key ${file} is not the one this database was sealed with (its key id is ${this.keyId})`,
      "put the right key file back from your copy",
    );
  }

  /** Stores the key of the marks, so that marks made before a change of `secret.key` are still recognized. */
  keepMarks(box: Box | null): void {
    if (box === null) this.#delete.run("marks");
    else this.#upsert.run("marks", box.sealMarks());
  }

  takeMarks(box: Box): void {
    const sealed = this.#select.get("marks");
    if (sealed !== undefined) box.takeMarks(String(sealed));
  }

  get keyCheck(): string {
    return String(this.#select.get("key_check"));
  }

  get keyId(): string {
    return String(this.#select.get("key_id"));
  }

  /** The latest wall-clock time that a commit has seen, to within a second. 0 in a new store. */
  get lastInstant(): number {
    return Number(this.#select.get("last_instant") ?? 0);
  }

  set lastInstant(now: number) {
    this.#upsert.run("last_instant", now);
  }

  /** True if the last process that had the store died within its first minute. */
  get young(): boolean {
    return this.#select.get("young") === 1;
  }

  get quickDeaths(): number {
    return Number(this.#select.get("quick_deaths") ?? 0);
  }

  beginLife(quickDeaths: number): void {
    this.#upsert.run("young", 1);
    this.#upsert.run("quick_deaths", quickDeaths);
  }

  outlive(): void {
    this.#upsert.run("young", 0);
  }

  /** The key of the attempt up to which response bodies were removed. */
  get responsesForgotten(): [event: number, endpoint: number, number: number] {
    const text = this.#select.get("responses_forgotten") ?? "-1,-1,-1";
    return String(text).split(",").map(Number) as [number, number, number];
  }

  set responsesForgotten(key: readonly [number, number, number]) {
    this.#upsert.run("responses_forgotten", key.join(","));
  }

  /**
   * The key of the delivery up to which response bodies were removed from first attempts that are kept in the row of
   * their delivery.
   */
  get firstResponsesForgotten(): [event: number, endpoint: number] {
    const text = this.#select.get("first_responses_forgotten") ?? "-1,-1";
    return String(text).split(",").map(Number) as [number, number];
  }

  set firstResponsesForgotten(key: readonly [number, number]) {
    this.#upsert.run("first_responses_forgotten", key.join(","));
  }

  /**
   * The lowest event key from which all deliveries have their causes. Earlier ones may lack them in a store that was
   * repaired. Null if all have them.
   */
  get causesNoted(): number | null {
    const event = this.#select.get("causes_noted");
    return event === undefined ? null : Number(event);
  }

  set causesNoted(event: number | null) {
    if (event === null) this.#delete.run("causes_noted");
    else this.#upsert.run("causes_noted", event);
  }

  get typesRevision(): number {
    return Number(this.#select.get(TYPES_REVISION) ?? 0);
  }

  set typesRevision(revision: number) {
    this.#upsert.run(TYPES_REVISION, revision);
  }

  get pause(): Pause | null {
    const text = this.#select.get("pause") ?? "null";
    return JSON.parse(String(text)) as Pause | null;
  }

  set pause(pause: Pause | null) {
    this.#upsert.run("pause", JSON.stringify(pause));
  }

  get lastBackup(): BackupFile | null {
    const text = this.#select.get("last_backup") ?? "null";
    return JSON.parse(String(text)) as BackupFile | null;
  }

  set lastBackup(backup: BackupFile) {
    this.#upsert.run("last_backup", JSON.stringify(backup));
  }

  /** Present while another process moves the store. */
  get openMove(): OpenMove | null {
    const id = this.#select.get("moving_out");
    if (id === undefined) return null;
    const [, since] = /^(\d{13,})-/.exec(String(id)) ?? [];
    return { since: since === undefined ? null : Number(since) };
  }

  /** The damage of the database from which this one was repaired. */
  get damage(): Damage | null {
    const text = this.#select.get("damage") ?? "null";
    return JSON.parse(String(text)) as Damage | null;
  }

  set damage(damage: Damage) {
    this.#upsert.run("damage", JSON.stringify(damage));
  }

  /** The time at which a backup was made, if nothing has used it since. Null in a store. */
  get copiedAt(): number | null {
    const at = this.#select.get("copied_at");
    return at === undefined ? null : Number(at);
  }

  /** The `secret.key` in a backup, sealed with a passphrase. */
  get sealedKey(): string | null {
    const text = this.#select.get("sealed_key");
    return text === undefined ? null : String(text);
  }

  markCopy(at: number, sealedKey: string | null): void {
    this.#upsert.run("copied_at", at);
    if (sealedKey !== null) this.#upsert.run("sealed_key", sealedKey);
  }

  /** Makes a backup a store. It starts paused, because attempts made after the copy are not in it. */
  takeUp(pause: Pause): void {
    this.#delete.run("copied_at");
    this.#delete.run("sealed_key");
    this.pause = pause;
  }
}
