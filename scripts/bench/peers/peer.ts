/** The interface by which the bench uses every tool, including webhookd. */
import type { RequestShape } from "../load-thread.ts";

export interface Peer {
  /** Describes, for readers of the table, how the tool is run here. */
  readonly about: string;
  /** Returns a sentence about what is not installed and how to get it, or null if the tool can be started. */
  missing(): string | null;
  /** Starts the tool in an empty directory, with an endpoint for each URL. */
  start(dir: string, urls: readonly string[]): Promise<RunningPeer>;
}

export interface RunningPeer {
  readonly version: string;
  readonly port: number;
  /** All processes that it needs, including its databases. Their children count too. */
  readonly pids: readonly number[];
  /** The time from the start of its own process until it accepts events. Its databases run before that. */
  readonly startMs: number;
  /** The endpoints in the order of their URLs. */
  readonly endpoints: readonly PeerEndpoint[];
  /** It need not end anything in order, because its data is discarded. */
  stop(): Promise<void>;
}

export interface PeerEndpoint {
  /** Publishes one event to this endpoint only. */
  readonly publish: RequestShape;
  /** The secret, if the tool signs as webhookd does; otherwise the header that contains its signature. */
  readonly signature: string | { readonly header: string };
}
