/** A file's owner and the bits of its mode. */
export interface Access {
  readonly uid: number;
  readonly mode: number;
}

const WRITE_OF_OTHERS = 0o022;

/** Who else than the trusted users may change the file, as the rest of a sentence about it; null when nobody may. */
export function changeableBy({ uid, mode }: Access, trusted: readonly number[]): string | null {
  if (!trusted.includes(uid)) return `belongs to user ${uid}, who can change it`;
  return (mode & WRITE_OF_OTHERS) === 0 ? null : `can be changed by other users (mode ${modeText(mode)})`;
}

export function modeText(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, "0")}`;
}
