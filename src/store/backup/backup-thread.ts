/** Makes a backup on a separate thread, so that commits continue. */
import { parentPort, workerData } from "node:worker_threads";
import { copyDatabase, type BackupFacts, type Copying } from "./copy.ts";

export type BackupThreadData = Copying;

export type FromBackup =
  | { readonly done: BackupFacts }
  | { readonly failed: { readonly code: string; readonly message: string } };

copyDatabase(workerData as BackupThreadData).then(
  (done) => parentPort!.postMessage({ done } satisfies FromBackup),
  (error: unknown) => {
    const { code = "", message } = error as { code?: unknown; message?: unknown };
    parentPort!.postMessage({ failed: { code: String(code), message: String(message) } } satisfies FromBackup);
  },
);
