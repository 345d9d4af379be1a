/** Advises on a failure, from the daemon's response about it. */
import { type Advice, adviceOn } from "../domain/advice/advice.ts";
import type { AttemptError } from "../domain/deliveries/attempt.ts";
import type { Attempt } from "./operations.ts";

interface Failure {
  readonly endpoint: string;
  readonly error: string | null;
  readonly status_code: number | null;
  readonly sample_attempt: string;
  /**
   * The number of deliveries that will be retried, or sent once the endpoint is enabled. Only for a group of failures.
   */
  readonly pending?: number;
  readonly held?: number;
}

/** `sample` is the attempt that the failure names, if it has been read; `lastsMs` is as in `Trouble`. */
export function adviceOnFailure(failure: Failure, sample: Attempt | undefined, lastsMs: number): Advice {
  const { endpoint, error, status_code: status, sample_attempt: attempt } = failure;
  const known = sample === undefined ? {} : { sample: sampleOf(sample) };
  const isOver = failure.pending === 0 && failure.held === 0;
  return adviceOn({ error: error as AttemptError | null, status, lastsMs, isOver, ...known }, { endpoint, attempt });
}

/** Advises on one failed attempt if it is unknown how long others have been failing in the same way. */
export function adviceOnAttempt(attempt: Attempt): Advice {
  return adviceOnFailure({ ...attempt, sample_attempt: attempt.id }, attempt, 0);
}

function sampleOf({ url, detail, remote_address, phases }: Attempt) {
  const { dns_ms: dnsMs, connect_ms: connectMs, tls_ms: tlsMs, first_byte_ms: firstByteMs } = phases;
  return { url, detail, remoteAddress: remote_address, phases: { dnsMs, connectMs, tlsMs, firstByteMs } };
}
