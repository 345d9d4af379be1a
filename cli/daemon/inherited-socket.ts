import { Failure } from "../failure.ts";

/** systemd passes descriptors from this number on (sd_listen_fds(3)). */
const FIRST_FD = 3;

/**
 * Returns the descriptor of the socket that systemd opened for us (`LISTEN_FDS`), or null if it opened none. Deletes
 * the variables, so that no child process takes the socket for its own.
 */
export function takeInheritedSocket(env: Record<string, string | undefined>, pid: number): number | null {
  const { LISTEN_FDS: count, LISTEN_PID: owner } = env;
  for (const name of ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]) delete env[name];
  if (count === undefined || owner !== String(pid)) return null;
  if (count === "1") return FIRST_FD;
  throw new Failure(
    "usage",
    `LISTEN_FDS is ${count}, but webhookd accepts only one socket`,
    "Keep one ListenStream in webhookd.socket; the daemon opens its unix socket itself.",
  );
}
