/** Where backups are kept: a file each, named by its instant; nothing else there is touched. */
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, syncDirectory } from "../files/durable-file.ts";

const NAME = /^webhookd-\d{8}T\d{9}Z\.db$/;
const PARTIAL = /^webhookd-(schema-\d+-to-\d+-)?\d{8}T\d{9}Z\.db\.partial(-journal|-wal|-shm)?$/;

export class BackupDirectory {
  readonly #dir: string;
  readonly #kind: string;

  /** `kind` begins the names of copies that are made before a migration. Throws the system's error when it cannot be used. A crash may have left half a backup: that goes. */
  constructor(dir: string, mayMake: boolean, kind = "") {
    this.#dir = dir;
    this.#kind = kind;
    // A directory that was configured and is gone may be a disk that is not mounted: its place is not the place.
    if (mayMake) makeDirectory(dir);
    if (!statSync(dir).isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    this.#removeAll((name) => PARTIAL.test(name));
  }

  /** Until it is whole it has another name. */
  partial(instant: number): string {
    return `${this.#file(instant)}.partial`;
  }

  /** The whole file's path, once its name is durable. */
  keep(instant: number): string {
    const file = this.#file(instant);
    renameSync(this.partial(instant), file);
    syncDirectory(this.#dir);
    return file;
  }

  /** Removes all but the latest; the one of `instant` stays, whatever the clock said before. */
  prune(instant: number, keep: number): void {
    const others = this.#names((name) => NAME.test(name) && name !== nameOf(instant));
    const old = new Set(
      others
        .toSorted()
        .toReversed()
        .slice(keep - 1),
    );
    if (keep > 0) this.#removeAll((name) => old.has(name));
  }

  /** Removes all others of this kind. */
  keepOnly(instant: number): void {
    const kept = nameOf(instant, this.#kind);
    this.#removeAll(
      (name) => name.startsWith(`webhookd-${this.#kind}`) && name !== kept && name.length === kept.length,
    );
  }

  abandon(instant: number): void {
    rmSync(this.partial(instant), { force: true });
  }

  #file(instant: number): string {
    return join(this.#dir, nameOf(instant, this.#kind));
  }

  #names(wanted: (name: string) => boolean): string[] {
    return readdirSync(this.#dir).filter(wanted);
  }

  #removeAll(wanted: (name: string) => boolean): void {
    for (const name of this.#names(wanted)) rmSync(join(this.#dir, name), { force: true });
  }
}

/** Without colons, which some file systems refuse. */
function nameOf(instant: number, kind = ""): string {
  return `webhookd-${kind}${new Date(instant).toISOString().replaceAll(/[-:.]/g, "")}.db`;
}
