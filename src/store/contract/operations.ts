/** The contract for operations on the store as a whole, such as pausing and backups, and for its upkeep. */
import type { DamagedPages, Lost } from "../../domain/wording.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";

export interface OperationsStore {
  /** Returns null if sending is not paused. */
  getPause(): Promise<Pause | null>;
  /**
   * Pauses all sending until `resume`. A pause that does not fit on the disk is not `saved`: it is kept in memory,
   * written as soon as there is space, and lost by a restart before that. An existing pause stays as it was. Returns
   * the pause in effect.
   */
  pause(pause: Pause): Promise<Pause>;
  /** Ends the pause. Returns false if sending was not paused. */
  resume(): Promise<boolean>;
  /** Returns the store's size on disk. */
  size(): Promise<StoreSize>;
  /**
   * Copies the current state into a separate file, checks the copy, and removes older backups. Publishes go on during
   * that time. The secrets in a backup cannot be read without `secret.key`, which the copy contains only if a
   * passphrase seals it. Rejects with `backup_running` during another backup, and otherwise with `backup_failed`, whose
   * detail says what to do. A failed backup leaves no file.
   */
  backup(place: BackupPlace, now: number): Promise<BackupFile>;
  /**
   * Explains to people why this store makes no backups, and `backup` always rejects with this text. Null if it makes
   * them.
   */
  readonly noBackups: string | null;
  /**
   * Seals everything with another `secret.key`. No endpoint's secret changes, and nothing stops in the meantime. A call
   * during a change returns the result of that change; a backup waits for it. Rejects with `backup_running`, with
   * `key_not_changeable` if this store may not change the file, and with `rekey_failed`.
   */
  rekey(): Promise<Rekeyed>;
  /** Returns the latest backup that this process or an earlier one made, or null if there is none. */
  lastBackup(): Promise<BackupFile | null>;
  /**
   * Describes the damaged database from which this one was repaired. Null if there was none, or if its file was
   * removed.
   */
  damage(): Promise<Damage | null>;
  /** Returns the move of the store that was begun and neither finished nor given up, or null if there is none. */
  openMove(): Promise<OpenMove | null>;
  readonly schemaVersion: number;
}

export interface OpenMove {
  /** Null if the time is unknown. */
  readonly since: number | null;
}

export interface StoreSize {
  readonly databaseBytes: number;
  /** The size of the write-ahead log in bytes. Its commits are not in the database file yet. */
  readonly logBytes: number;
}

export interface BackupPlace {
  readonly dir: string;
  /** True if the directory may be created. */
  readonly mayMake: boolean;
  /** The number of backups to keep, including this one. 0 keeps all. */
  readonly keep: number;
  /** The passphrase that seals `secret.key` in the copy. Without one, the copy does not contain the key. */
  readonly passphrase?: string | undefined;
  /** The file that holds the passphrase if none is given. Empty if there is no such file. */
  readonly sealWithFile?: string;
}

export interface BackupFile {
  readonly file: string;
  readonly at: number;
  readonly bytes: number;
  readonly schema: number;
  /** The number of endpoints that are not deleted. */
  readonly endpoints: number;
  readonly events: number;
  /** The hash of the whole file, in hexadecimal. */
  readonly sha256: string;
  /** True if the file contains `secret.key`, sealed. */
  readonly sealed: boolean;
}

export interface Rekeyed {
  readonly keyFile: string;
  /** Identifies the new key without revealing anything about it. */
  readonly keyId: string;
  /** The path at which the old key is kept. Null if its file no longer existed. */
  readonly kept: string | null;
  /** The number of endpoints that were sealed anew, including the alert endpoint. */
  readonly resealed: number;
  /** The endpoints with a sealed value that even the old key did not open. */
  readonly damaged: readonly string[];
}

/** A report on a database that was damaged and then repaired. */
export interface Damage {
  /** The time at which the damage was found. */
  readonly at: number;
  /** The damaged database. Removing the file also removes this report. */
  readonly file: string;
  /** The damaged pages by table or index, as far as the search got. */
  readonly pages: readonly DamagedPages[];
  /** The rows that could not be read and are lost. */
  readonly lost: readonly LostRows[];
  /** Null if the write-ahead log was not damaged. */
  readonly log: DamagedLog | null;
}

/** The transactions in the write-ahead log that come after the damage, and that SQLite therefore ignores. */
export interface DamagedLog {
  /** The path of a copy of the log, made before anything was written over it. */
  readonly file: string;
  /** A transaction holds one or more requests. */
  readonly transactions: number;
  readonly pages: number;
}

export interface LostRows extends Lost {
  /** The events of these rows were received between these two times. Null if unknown. */
  readonly from: number | null;
  readonly until: number | null;
}

/** Upkeep. Each call changes at most 500 rows, and reads at most 500 events or attempts. */
export interface UpkeepStore {
  /**
   * Removes events and all rows that belong to them. An event is removed only if none of its deliveries is open. If a
   * delivery failed, the event must have been received and last attempted before `rules.failed`, and otherwise before
   * `rules.delivered`. Begins after `from`.
   */
  pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned>;
  /**
   * Fails the held deliveries that were due before `before`, if their endpoint has been disabled and unchanged since
   * then. Each gets an attempt with the error `held_expired`. Returns the number of deliveries. Fewer than 500 means
   * that none are left.
   */
  expireHeld(before: number, now: number): Promise<number>;
  /**
   * Frees ordering keys that are held although their endpoint, as it is set now, goes on after a failure, or was
   * deleted. Returns their number; fewer than 500 means that none is left.
   */
  freeKeys(now: number): Promise<number>;
  /** Removes ordering keys whose last event is gone. Begins after `from`. */
  pruneKeys(from: string | null): Promise<Pruned>;
  /**
   * Removes the earlier choices of endpoints that decided about no event that is still kept. Returns their number;
   * fewer than 500 means that no more are left.
   */
  pruneChoices(): Promise<number>;
  /** Removes the responses to attempts from before that instant. Fewer than 500 means that no more are left. */
  forgetResponses(before: number): Promise<number>;
  /**
   * Returns free space of the store to its disk, a little at a time, once much of it is free. Returns the number of
   * bytes. 0 means that not much is free, or that the store cannot do this.
   */
  giveBack(): Promise<number>;
  /**
   * Checks the stored counters of pending deliveries, and corrects wrong ones. Returns the tenants whose counters were
   * wrong, which is always a bug. A store without such counters returns none.
   */
  mendPending(): Promise<readonly string[]>;
  /** Saves at most 500 changed health records. A crash loses changes that were not saved. */
  saveHealth(): Promise<void>;
  /** Checks the free space again. Below the floor, publishes are refused and deliveries go on. */
  checkSpace(): Promise<Space>;
  /** Returns the last known condition, without checking the disk. */
  condition(): Promise<Condition>;
}

/** Events that ended before these instants are removed. */
export interface PruneRules {
  readonly delivered: number;
  readonly failed: number;
}

export interface Pruned {
  /** The number of objects removed, not counting the rows that belonged to them. */
  readonly pruned: number;
  /** An opaque place at which to continue. Null at the end. */
  readonly next: string | null;
}

export interface Condition {
  /** `ready` means that the store accepts publishes now. */
  readonly state: "ready" | "disk_full" | "store_unavailable";
  /** Explains to people why the write-ahead log keeps growing. Null while it does not. */
  readonly trouble: string | null;
  /** Present while the database cannot be used for a reason other than a full disk. */
  readonly outage?: Outage | null;
}

/** The database does not answer, or refuses what it is asked to do. */
export interface Outage {
  readonly since: number;
  /** Tells people what is wrong, and what to do about it. */
  readonly detail: string;
}

export interface Space extends Condition {
  /** Null if unknown, because the disk is on another host. */
  readonly freeBytes: number | null;
  readonly floorBytes: number;
}
