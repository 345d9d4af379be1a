/** Keeps responses of the daemon, so that they show at once the next time, and reads them again when they change. */
import type { Ask, Client } from "../../client/client.ts";
import type { ClientError } from "../../client/error.ts";
import type { Answers } from "../../client/operations.ts";
import type { StreamMessage } from "../../client/stream.ts";
import { after, now } from "./clock.ts";
import { unawaited } from "../../domain/unawaited.ts";

export interface Reading<T> {
  /** Undefined before the first response. */
  readonly value: T | undefined;
  /** The error of the latest try, if it failed. The previous value is kept. */
  readonly fault: ClientError | undefined;
}

/** Changes a response by a message of the stream, so that it shows at once. Returns the same value if nothing changes. */
export type Patch<T> = (value: T, message: StreamMessage) => T;

interface Entry {
  readonly about: string | null;
  readonly patch: Patch<unknown> | undefined;
  reading: Reading<unknown>;
  readonly listeners: Set<() => void>;
  load: () => Promise<unknown>;
  readAt: number;
  sentAt: number;
  /** The pause before the next read. It grows while changes keep coming. */
  pauseMs: number;
  loading: boolean;
  /** True if something changed after the request in progress was sent. */
  stale: boolean;
  cancel: (() => void) | null;
}

const NOTHING: Reading<never> = { value: undefined, fault: undefined };
/** The minimum time between two reads. It doubles with each read while something keeps changing. */
const LEAST_PAUSE_MS = 800;
const LONGEST_PAUSE_MS = 3200;
/** The first reads wait this long for the stream, because what is read before it begins must be read again. */
const STREAM_WAIT_MS = 400;
/** The maximum number of kept responses that are not on the screen. */
const MAX_KEPT = 200;

interface Followed<T> {
  readonly key: string;
  /** The endpoint whose changes affect the response. Null if any endpoint's do, and `none` if no endpoint's does. */
  readonly about: string | null;
  readonly patch: Patch<T> | undefined;
}

/** Nothing that happens to an endpoint affects the response. */
export const NONE = "none";

export class Reads {
  readonly #client: Client;
  readonly #entries = new Map<string, Entry>();
  readonly #ended: (error: ClientError) => void;
  #isHalted = false;
  #stream: Promise<void> | null;
  #streams: () => void = () => {};

  /** `ended` is called if the daemon refuses the key. */
  constructor(client: Client, ended: (error: ClientError) => void) {
    this.#client = client;
    this.#ended = ended;
    this.#stream = new Promise((resolve) => {
      this.#streams = () => {
        this.#stream = null;
        resolve();
      };
    });
    after(STREAM_WAIT_MS, this.#streams);
  }

  /**
   * Reads now, unless the last read was a moment ago or the response is on the screen already, where the stream keeps it
   * current. Returns a function that stops listening.
   */
  follow<O extends keyof Answers>(
    { key, about, patch }: Followed<Answers[O]>,
    operation: O,
    ask: Ask,
    listener: () => void,
  ) {
    const entry = this.#entry({ key, about, patch: patch as Patch<unknown> | undefined }, () =>
      this.#client.call(operation, ask),
    );
    const isShown = entry.listeners.size > 0;
    entry.listeners.add(listener);
    if (!isShown && now() - entry.readAt > LEAST_PAUSE_MS) unawaited(this.#read(entry));
    return () => void entry.listeners.delete(listener);
  }

  reading<T>(key: string): Reading<T> {
    return (this.#entries.get(key)?.reading ?? NOTHING) as Reading<T>;
  }

  again(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) unawaited(this.#read(entry));
  }

  /** Reads again what is on the screen and concerns this endpoint. Null stands for all endpoints. */
  changed(endpoint: string | null): void {
    for (const entry of this.#entries.values()) {
      if (endpoint !== null && entry.about !== null && entry.about !== endpoint) continue;
      if (entry.listeners.size === 0) entry.readAt = 0;
      else this.#soon(entry);
    }
  }

  /** The stream has begun: whatever was asked before may miss a change. */
  streams(): void {
    this.#streams();
    const startedAt = now();
    for (const entry of this.#entries.values()) {
      if (entry.about === NONE || entry.sentAt === 0 || entry.sentAt > startedAt) continue;
      if (entry.listeners.size === 0) entry.readAt = 0;
      else unawaited(this.#read(entry));
    }
  }

  /** Changes what is on the screen by a message, without asking. */
  told(message: StreamMessage): void {
    for (const entry of this.#entries.values()) {
      const { value } = entry.reading;
      if (entry.patch === undefined || value === undefined) continue;
      const patched = entry.patch(value, message);
      if (patched === value) continue;
      entry.reading = { ...entry.reading, value: patched };
      for (const listener of entry.listeners) listener();
    }
  }

  /** Like `changed`, but at once, because a person is waiting for the result of an action. */
  acted(): void {
    for (const entry of this.#entries.values()) {
      entry.readAt = 0;
      entry.pauseMs = LEAST_PAUSE_MS;
      if (entry.listeners.size > 0) unawaited(this.#read(entry));
    }
  }

  /** Reads nothing more, because the key has ended. */
  halt(): void {
    this.#isHalted = true;
  }

  /** There is a new key. */
  goOn(): void {
    if (!this.#isHalted) return;
    this.#isHalted = false;
    this.acted();
  }

  /** Forgets all responses, for example to show another tenant. */
  clear(): void {
    for (const [key, entry] of this.#entries) {
      entry.cancel?.();
      if (entry.listeners.size === 0) this.#entries.delete(key);
    }
  }

  #entry({ key, about, patch }: Followed<unknown>, load: () => Promise<unknown>): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.load = load;
      return known;
    }
    if (this.#entries.size >= MAX_KEPT)
      for (const [old, { listeners }] of this.#entries) if (listeners.size === 0) this.#entries.delete(old);
    const entry: Entry = {
      about,
      patch,
      load,
      reading: NOTHING,
      listeners: new Set(),
      readAt: 0,
      sentAt: 0,
      pauseMs: LEAST_PAUSE_MS,
      loading: false,
      stale: false,
      cancel: null,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #soon(entry: Entry): void {
    if (entry.cancel !== null) return;
    const since = now() - entry.readAt;
    if (since > 2 * entry.pauseMs) entry.pauseMs = LEAST_PAUSE_MS;
    entry.cancel = after(Math.max(50, entry.pauseMs - since), () => unawaited(this.#read(entry)));
    entry.pauseMs = Math.min(2 * entry.pauseMs, LONGEST_PAUSE_MS);
  }

  async #read(entry: Entry): Promise<void> {
    entry.cancel?.();
    entry.cancel = null;
    if (this.#isHalted) return;
    if (entry.loading) return void (entry.stale = true);
    entry.loading = true;
    if (this.#stream !== null) await this.#stream;
    entry.stale = false;
    entry.sentAt = now();
    try {
      entry.reading = { value: await entry.load(), fault: undefined };
    } catch (error) {
      const fault = error as ClientError;
      if (fault.code === "unauthorized") this.#ended(fault);
      entry.reading = { value: entry.reading.value, fault };
    }
    entry.loading = false;
    entry.readAt = now();
    for (const listener of entry.listeners) listener();
    if (entry.stale) this.#soon(entry);
  }
}
