/** The face that every tool shows to the bench, webhookd among them. */
import type { RequestShape } from "../load-thread.ts";

export interface Peer {
  /** How it is run here, for readers of the table. */
  readonly about: string;
  /** What of it is not installed, and where it comes from, in a sentence; null if it can be started. */
  missing(): string | null;
  /** Starts it in an empty directory, with an endpoint for each URL. */
  start(dir: string, urls: readonly string[]): Promise<RunningPeer>;
}

export interface RunningPeer {
  readonly version: string;
  readonly port: number;
  /** Everything that it needs, its databases too; what these start belongs to them. */
  readonly pids: readonly number[];
  /** From the start of its own process until it takes events; its databases run by then. */
  readonly startMs: number;
  /** Of the endpoints, in the order of their URLs. */
  readonly endpoints: readonly PeerEndpoint[];
  /** Its data is thrown away: nothing needs to end in order. */
  stop(): Promise<void>;
}

export interface PeerEndpoint {
  /** Publishes one event to this endpoint alone. */
  readonly publish: RequestShape;
  /** What it signs with if it signs as webhookd does, otherwise the header that its signature is in. */
  readonly signature: string | { readonly header: string };
}
