/** Who may change a file, and how many connections to receivers the limit of open files leaves room for. */

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

/** The store's files, threads, listeners and look-ups, and what is opened for a moment. */
const OWN = 48;
/** Clients of the API: a part of what is left, and no more than are let in. */
const CLIENTS_SHARE = 1 / 4;
const CLIENTS = 512;
/** Of the connections to receivers; the others may rest until they are used again. */
const IN_FLIGHT_SHARE = 4 / 5;

export interface Room {
  /** Attempts at once. */
  readonly inFlight: number;
  /** Connections that are kept though nothing is sent on them. */
  readonly resting: number;
}

/** A soft limit, as Linux says it in `/proc/PID/limits`; null where it does not. */
export function softLimitOf(limits: string, name: "open files" | "file size" = "open files"): number | null {
  const [, soft] = new RegExp(`^Max ${name}\\s+(\\d+|unlimited)`, "m").exec(limits) ?? [];
  return soft === undefined ? null : soft === "unlimited" ? Infinity : Number(soft);
}

export function roomWithin(openFiles: number | null): Room {
  if (openFiles === null || openFiles === Infinity) return { inFlight: Infinity, resting: Infinity };
  const spare = Math.max(0, openFiles - OWN);
  const connections = spare - Math.min(CLIENTS, Math.floor(spare * CLIENTS_SHARE));
  const inFlight = Math.max(1, Math.floor(connections * IN_FLIGHT_SHARE));
  return { inFlight, resting: Math.max(0, connections - inFlight) };
}

/** The limit from which on so many attempts may be made at once. */
export function openFilesFor(inFlight: number): number {
  const connections = Math.ceil(inFlight / IN_FLIGHT_SHARE);
  return OWN + connections + Math.min(CLIENTS, Math.ceil((connections * CLIENTS_SHARE) / (1 - CLIENTS_SHARE)));
}
