/** What the embedded store is opened with. */
import type { Clock } from "../../../clock.ts";
import type { StartBackup } from "../../backup/backup.ts";
import type { Reserve } from "../../files/reserve.ts";
import type { SetAside } from "../../files/set-aside.ts";
import type { Box } from "./box.ts";
import type { StatFs } from "./condition.ts";
import type { NativeBinding } from "./open-file.ts";

export interface SqliteStoreOptions {
  readonly dir: string;
  readonly diskFloor: number;
  /** 0: no limit. */
  readonly maxPendingPerTenant: number;
  /** Where the box's key is. */
  readonly secretKeyFile: string;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly statfs: StatFs;
  readonly defer: (run: () => void) => void;
  readonly nativeBinding: NativeBinding | undefined;
  readonly startBackup: StartBackup;
  readonly onFault: (error: Error) => void;
  /** Over it the write-ahead log is said to grow. */
  readonly walLimitBytes?: number | undefined;
  /** Takes what cannot be recorded in a damaged database. */
  readonly setAside: SetAside;
  readonly reserve: Reserve;
  /** Runs when the database is closed. */
  readonly onClosed: () => void;
}
