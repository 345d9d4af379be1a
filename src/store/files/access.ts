/** Who else may change or read what a store is made of. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { changeableBy, modeText } from "../../domain/keys/access.ts";
import { StoreRefused } from "./refused.ts";

const READ_BY_OTHERS = 0o044;
const READ_BY_ALL = 0o004;

/**
 * Throws when a user other than this one, root and `owner` may change it: they could put a key or a link of theirs in
 * its place.
 */
export function requireUnchangeable(path: string, owner?: number): void {
  const user = process.geteuid?.();
  const found = statSync(path, { throwIfNoEntry: false });
  // Windows has other rules, and no such bits.
  if (user === undefined || found === undefined) return;
  const fault = changeableBy(found, [0, user, owner ?? user]);
  if (fault === null) return;
  const own = `chmod go-w ${path}`;
  const todo =
    (found.mode & 0o022) !== 0 && [0, user].includes(found.uid)
      ? `${own}; a volume that has to stay so can hold a directory of the daemon's own: --data-dir`
      : `run webhookd as that user, or give it to this one: chown ${user} ${path}; ${own}`;
  throw new StoreRefused(1, `${path} ${fault}`, todo);
}

/** Those of the paths that other users may read, with their modes. */
export function readableByOthers(dir: string, files: readonly string[]): string[] {
  if (process.geteuid === undefined) return [];
  return [dir, ...files].flatMap((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    // systemd hands credentials over with a group bit that stands for an access list.
    const bits = path === dir || dirname(path) === dir ? READ_BY_OTHERS : READ_BY_ALL;
    return (mode & bits) === 0 ? [] : [`${path} (mode ${modeText(mode)})`];
  });
}
