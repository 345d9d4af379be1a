/** What an operator asks of the store as a whole, and the chores that keep it well. */
import type { DamagedPages, Lost } from "../../domain/wording.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";

export interface OperationsStore {
  /** Null while the brake is off. */
  getPause(): Promise<Pause | null>;
  /**
   * Puts the brake on for good; one that is not `saved`, because the disk takes nothing, for this process's life, or until
   * there is space again. One that is on stays as it was; the answer is the one that holds.
   */
  pause(pause: Pause): Promise<Pause>;
  /** Takes the brake off; false when it was off. */
  resume(): Promise<boolean>;
  /** What the store takes up on its disk. */
  size(): Promise<StoreSize>;
  /**
   * Writes what is committed now into a file of its own, checks it, and removes older ones; publishes go on. Without
   * `secret.key`, nobody can read the secrets in it: the copy holds that key only where it is sealed with a passphrase. Rejects with `backup_running` while another one is made, else with
   * `backup_failed`, whose detail says what to do; nothing is left of it then.
   */
  backup(place: BackupPlace, now: number): Promise<BackupFile>;
  /** Why nothing is backed up here, for people: `backup` then always rejects with it. Null if backups are made. */
  readonly noBackups: string | null;
  /**
   * Seals everything with another `secret.key`; no endpoint's secret changes, and nothing stops meanwhile. Asked while it
   * is being done, it is the same change; a backup waits for it. Rejects with `backup_running`, with `key_not_changeable`
   * where the file is not this store's to change, and with `rekey_failed`.
   */
  rekey(): Promise<Rekeyed>;
  /** The latest that was made, by this process or one before it; null when there was none. */
  lastBackup(): Promise<BackupFile | null>;
  /** Of the database that this one was mended from; null when there was none, or the damaged file was removed. */
  damage(): Promise<Damage | null>;
  /** A move of the store beside its daemon that was begun, and neither finished nor given up; null when there is none. */
  openMove(): Promise<OpenMove | null>;
  /** The number of the schema's last step. */
  readonly schemaVersion: number;
}

export interface OpenMove {
  /** Null when it is not known. */
  readonly since: number | null;
}

export interface StoreSize {
  readonly databaseBytes: number;
  /** What was committed and is not yet moved into the database. */
  readonly logBytes: number;
}

export interface BackupPlace {
  readonly dir: string;
  /** Makes the directory if it is not there. */
  readonly mayMake: boolean;
  /** How many to keep, this one included; 0 keeps all. */
  readonly keep: number;
  /** What `secret.key` is sealed with into the copy; without one it is not in it. */
  readonly passphrase?: string | undefined;
  /** A file that holds it, when none is given; empty: there is none. */
  readonly sealWithFile?: string;
}

export interface BackupFile {
  readonly file: string;
  readonly at: number;
  readonly bytes: number;
  readonly schema: number;
  /** Those that are not deleted. */
  readonly endpoints: number;
  readonly events: number;
  /** Of the whole file, in hexadecimal. */
  readonly sha256: string;
  /** Whether `secret.key` is in it, sealed. */
  readonly sealed: boolean;
}

export interface Rekeyed {
  readonly keyFile: string;
  /** Names the new key, and tells nothing of it. */
  readonly keyId: string;
  /** Where the key of before is; null when it was not there any more. */
  readonly kept: string | null;
  /** How many endpoints have been sealed anew, that of the alerts included. */
  readonly resealed: number;
  /** Endpoints of which something did not open before either. */
  readonly damaged: readonly string[];
}

/** What became of a database that was damaged. */
export interface Damage {
  /** When it was found. */
  readonly at: number;
  /** The damaged database, which is kept until somebody removes it; with it goes this report. */
  readonly file: string;
  /** Damaged pages by table or index, as far as they were looked for. */
  readonly pages: readonly DamagedPages[];
  /** What could not be read and is gone. */
  readonly lost: readonly LostRows[];
  /** Of the write-ahead log, if that was damaged. */
  readonly log: DamagedLog | null;
}

/** Transactions of the write-ahead log that stood behind the damage, which SQLite does not take. */
export interface DamagedLog {
  /** A copy of it, before anything was written over. */
  readonly file: string;
  /** Each holds one request or more. */
  readonly transactions: number;
  readonly pages: number;
}

export interface LostRows extends Lost {
  /** When the events were received that these rows are about, at most; null when that is not known. */
  readonly from: number | null;
  readonly until: number | null;
}

/** Chores: each call touches at most 500 rows, and looks at as many events or attempts. */
export interface UpkeepStore {
  /**
   * Removes events with all that belongs to them: those of which no delivery is open, and which were received, and
   * last attempted, before `rules.failed` if a delivery failed, before `rules.delivered` else. Begins after `from`.
   */
  pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned>;
  /**
   * Lets held deliveries fail that were due before that instant, of endpoints that were disabled and not changed since
   * then: each gets an attempt with the error `held_expired`. How many; fewer than 500: there are no more.
   */
  expireHeld(before: number, now: number): Promise<number>;
  /** Forgets what receivers answered to attempts from before that instant. Fewer than 500: there are no more. */
  forgetResponses(before: number): Promise<number>;
  /**
   * Gives free space of the store back to its disk, a little at a time, once much of it is free; how many bytes. 0: not
   * much is, or the store cannot.
   */
  giveBack(): Promise<number>;
  /**
   * Counts what each tenant has pending, where the store keeps counters of that, and mends those that are wrong: of which
   * tenants. Any is a bug.
   */
  mendPending(): Promise<readonly string[]>;
  /** Writes down how endpoints fare, at most 500 of those that have news. A crash forgets what was not written. */
  saveHealth(): Promise<void>;
  /** Looks at the free space again; publishes are refused under the floor, deliveries go on. */
  checkSpace(): Promise<Space>;
  /** As far as it is known without a look. */
  condition(): Promise<Condition>;
}

/** Instants: what was over before them goes. */
export interface PruneRules {
  readonly delivered: number;
  readonly failed: number;
}

export interface Pruned {
  /** How many are gone, whatever went with them. */
  readonly pruned: number;
  /** Opaque: where to go on; null at the end. */
  readonly next: string | null;
}

export interface Condition {
  /** Whether publishes would be taken now. */
  readonly state: "ready" | "disk_full" | "store_unavailable";
  /** Why what is committed takes ever more room, for people; null while it does not. */
  readonly trouble: string | null;
  /** Why the database cannot be used, though its disk has room. */
  readonly outage?: Outage | null;
}

/** The database does not answer, or refuses what it is asked. */
export interface Outage {
  readonly since: number;
  /** What happens, and what to do about it, for people. */
  readonly detail: string;
}

export interface Space extends Condition {
  /** Null if it is not known: the disk is on another host. */
  readonly freeBytes: number | null;
  readonly floorBytes: number;
}
