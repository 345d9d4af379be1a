/** Keeps responses of the daemon, so that they show at once the next time, and reads them again when they change. */
import type { Ask, Client } from "../../client/client.ts";
import type { ClientError } from "../../client/error.ts";
import type { Answers } from "../../client/operations.ts";
import { after, now } from "./clock.ts";
import { unawaited } from "../../domain/unawaited.ts";

export interface Reading<T> {
  /** Undefined before the first response. */
  readonly value: T | undefined;
  /** The error of the latest try, if it failed. The previous value is kept. */
  readonly fault: ClientError | undefined;
}

interface Entry {
  readonly about: string | null;
  reading: Reading<unknown>;
  readonly listeners: Set<() => void>;
  load: () => Promise<unknown>;
  readAt: number;
  loading: boolean;
  /** True if something changed after the request in progress was sent. */
  stale: boolean;
  cancel: (() => void) | null;
}

const NOTHING: Reading<never> = { value: undefined, fault: undefined };
/** The minimum time between two reads, however often something changes. */
const LEAST_PAUSE_MS = 800;
/** The maximum number of kept responses that are not on the screen. */
const MAX_KEPT = 200;

export class Reads {
  readonly #client: Client;
  readonly #entries = new Map<string, Entry>();
  readonly #ended: (error: ClientError) => void;
  #isHalted = false;

  /** `ended` is called if the daemon refuses the key. */
  constructor(client: Client, ended: (error: ClientError) => void) {
    this.#client = client;
    this.#ended = ended;
  }

  /** Reads now, unless the last read was a moment ago. Returns a function that stops listening. */
  follow<O extends keyof Answers>(key: string, about: string | null, operation: O, ask: Ask, listener: () => void) {
    const entry = this.#entry(key, about, () => this.#client.call(operation, ask));
    entry.listeners.add(listener);
    if (now() - entry.readAt > LEAST_PAUSE_MS) unawaited(this.#read(entry));
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

  /** Like `changed`, but at once, because a person is waiting for the result of an action. */
  acted(): void {
    for (const entry of this.#entries.values()) {
      entry.readAt = 0;
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

  #entry(key: string, about: string | null, load: () => Promise<unknown>): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.load = load;
      return known;
    }
    if (this.#entries.size >= MAX_KEPT)
      for (const [old, { listeners }] of this.#entries) if (listeners.size === 0) this.#entries.delete(old);
    const entry: Entry = {
      about,
      load,
      reading: NOTHING,
      listeners: new Set(),
      readAt: 0,
      loading: false,
      stale: false,
      cancel: null,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #soon(entry: Entry): void {
    if (entry.cancel !== null) return;
    const wait = Math.max(50, entry.readAt + LEAST_PAUSE_MS - now());
    entry.cancel = after(wait, () => unawaited(this.#read(entry)));
  }

  async #read(entry: Entry): Promise<void> {
    entry.cancel?.();
    entry.cancel = null;
    if (this.#isHalted) return;
    if (entry.loading) return void (entry.stale = true);
    entry.loading = true;
    entry.stale = false;
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
