/** Rules about file permissions, and about how many connections to receivers the limit of open files allows. */

/** A file's owner and the bits of its mode. */
export interface Access {
  readonly uid: number;
  readonly mode: number;
}

const WRITE_OF_OTHERS = 0o022;

/**
 * Returns why users other than the trusted ones can change the file, as the end of a sentence about it. Null if none
 * can.
 */
export function changeableBy({ uid, mode }: Access, trusted: readonly number[]): string | null {
  if (!trusted.includes(uid)) return `belongs to user ${uid}, who can change it`;
  return (mode & WRITE_OF_OTHERS) === 0 ? null : `can be changed by other users (mode ${modeText(mode)})`;
}

export function modeText(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, "0")}`;
}

/** Reserved for the store's files, threads, listeners and look-ups, and for files opened briefly. */
const OWN = 48;
/**
 * The part of the remaining files that is reserved for clients of the API, up to the number of clients that are
 * accepted.
 */
const CLIENTS_SHARE = 1 / 4;
const CLIENTS = 512;
/** The share of the connections to receivers that attempts may use. The others may stay idle for reuse. */
const IN_FLIGHT_SHARE = 4 / 5;

export interface ConnectionBudget {
  /** The maximum number of attempts at a time. */
  readonly inFlight: number;
  /** The maximum number of idle connections. */
  readonly resting: number;
}

/** Returns a soft limit from the text of Linux's `/proc/PID/limits`, or null if it is not there. */
export function softLimitOf(limits: string, name: "open files" | "file size" = "open files"): number | null {
  const [, soft] = new RegExp(`^Max ${name}\\s+(\\d+|unlimited)`, "m").exec(limits) ?? [];
  return soft === undefined ? null : soft === "unlimited" ? Infinity : Number(soft);
}

export function connectionBudget(openFiles: number | null): ConnectionBudget {
  if (openFiles === null || openFiles === Infinity) return { inFlight: Infinity, resting: Infinity };
  const spare = Math.max(0, openFiles - OWN);
  const connections = spare - Math.min(CLIENTS, Math.floor(spare * CLIENTS_SHARE));
  const inFlight = Math.max(1, Math.floor(connections * IN_FLIGHT_SHARE));
  return { inFlight, resting: Math.max(0, connections - inFlight) };
}

/** Returns the limit of open files that this many simultaneous attempts need. */
export function openFilesFor(inFlight: number): number {
  const connections = Math.ceil(inFlight / IN_FLIGHT_SHARE);
  return OWN + connections + Math.min(CLIENTS, Math.ceil((connections * CLIENTS_SHARE) / (1 - CLIENTS_SHARE)));
}
