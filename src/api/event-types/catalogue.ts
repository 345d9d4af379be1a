/**
 * The event types of a running daemon: those of the specification, of the configuration and of the store, in one map
 * that everyone holds. Only this class reads the store's types and learns of the changes of other nodes.
 */
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import { ConfigError, type Mistake } from "../../config/mistake.ts";
import { ALERT_TYPES } from "../../domain/alert.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { catalogueOf, type KnownType, readOnlyFault, type StoredType } from "../../domain/events/catalogue.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import type { PutType, Store, StoredTypes, TypeChange, TypeInUse } from "../../store/store.ts";
import { validationFailed } from "../pipeline/body.ts";
import type { DataCheck, DataFault, SampledType, SingleChecks } from "./data-check.ts";

const WHERE = "[[event_types]]";

/**
 * The interval between checks for the changes of other nodes. A request that names an unknown type waits for the next
 * check.
 */
const LOOK_EVERY_MS = 50;

interface Parts {
  readonly store: {
    readonly endpoints: Pick<Store["endpoints"], "typesInUse">;
    readonly types: Store["types"];
    readonly ownership?: Pick<Store["ownership"], "owns">;
  };
  readonly clock: Clock;
}

type Wanted = Pick<Config, "eventTypes" | "events">;

export class Catalogue {
  readonly #parts: Parts;
  /** Stays the same map for as long as the daemon runs. A change replaces its entries. */
  readonly types = new Map<string, KnownType>();
  /** Undefined unless some type is validated. */
  checkData: DataCheck | undefined;
  hasDeprecated = false;
  /** The revision of the types in the store when they were last read. */
  revision = 0;
  #usable: UsableTypes;
  #stored: ReadonlyMap<string, StoredType> = new Map();
  /** Loaded along with the first type that needs it. */
  #checks: SingleChecks | undefined;
  #look: Promise<void> | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  private constructor(parts: Parts, usable: UsableTypes) {
    this.#parts = parts;
    this.#usable = usable;
    this.#rebuild();
  }

  /** Returns only the configured types, unchecked, until the store's types have been read. */
  static unread({ eventTypes, events }: Wanted, parts: Parts): Catalogue {
    return new Catalogue(parts, { configured: eventTypes, validates: events.validate, checkData: undefined });
  }

  /** Throws a ConfigError for types that cannot be used. */
  static async open(wanted: Wanted, parts: Parts): Promise<Catalogue> {
    const opened = Catalogue.unread({ eventTypes: [], events: { ...wanted.events, validate: false } }, parts);
    await opened.change(wanted);
    return opened;
  }

  /** True if other nodes may change types too. */
  get isShared(): boolean {
    return (this.#parts.store.ownership?.owns ?? null) !== null;
  }

  /** Switches to the wanted types. Throws a ConfigError, and changes nothing, if one of them cannot be used. */
  async change(wanted: Wanted): Promise<void> {
    this.use(await this.check(wanted));
  }

  /** Returns types to pass to `use`. Throws a ConfigError for types that cannot be used, and changes nothing. */
  async check(wanted: Wanted): Promise<UsableTypes> {
    const { endpoints, types } = this.#parts.store;
    const usable = await usableTypes(wanted);
    const read = await types.list();
    const known = catalogueOf({ ...usable, stored: read.types });
    const removed = await endpoints.typesInUse([...known.keys(), ...ALERT_TYPES]);
    if (removed.length > 0) throw new ConfigError(removed.map(stillChosen));
    const again = read.deleted.filter((name) => known.has(name));
    if (again.length > 0) await types.revive(again);
    await this.#prepare(read.types, usable.validates);
    await this.#take(read);
    return usable;
  }

  use(usable: UsableTypes): void {
    this.#usable = usable;
    this.#rebuild();
  }

  /** The type of this name that the store keeps; null if there is none, or if the configuration hides it. */
  stored(name: string): StoredType | null {
    return this.types.get(name)?.origin === "api" ? this.#stored.get(name)! : null;
  }

  /**
   * Returns the sample of a type, as `SingleChecks.sampleOf` does. Throws `validation_failed` for a schema that cannot
   * be used, or that the sample does not match.
   */
  async sampleFor(type: SampledType): Promise<StoredType["sample"]> {
    const [checks, { UnusableType }] = await Promise.all([this.#loadChecks(), import("./data-check.ts")]);
    try {
      return checks.sampleFor(type);
    } catch (error) {
      if (!(error instanceof UnusableType)) throw error;
      throw validationFailed([{ pointer: `/${error.part}`, code: "invalid_syntax", detail: error.message }]);
    }
  }

  /** Throws `event_type_read_only`, what `change` throws, and what the store refuses. */
  async put(names: readonly string[], change: TypeChange): Promise<readonly PutType[]> {
    for (const name of names) this.#requireOwn(name);
    const { types, revision } = await this.#parts.store.types.put(names, change);
    await this.#changed(revision, (stored) => {
      for (const { type } of types) stored.set(type.name, type);
    });
    return types;
  }

  /** Returns false if there is no such type. Throws `event_type_read_only` and `event_type_in_use`. */
  async delete(name: string, now: number): Promise<boolean> {
    this.#requireOwn(name);
    const revision = await this.#parts.store.types.delete(name, now);
    if (revision === null) return false;
    await this.#changed(revision, (stored) => stored.delete(name));
    return true;
  }

  #requireOwn(name: string): void {
    const fault = readOnlyFault(this.types.get(name));
    if (fault !== null) throw fault;
  }

  /**
   * Reads the types again if another node has changed one. Concurrent callers share one check, and checks are spaced
   * apart, so that nobody can make this node query the store all the time.
   */
  look(): Promise<void> {
    return (this.#look ??= this.#wait());
  }

  async #wait(): Promise<void> {
    const { clock, store } = this.#parts;
    const left = this.#lookedAt + LOOK_EVERY_MS - clock.monotonic();
    await new Promise<void>((resolve) => void (left > 0 ? clock.after(left, resolve) : clock.nextTurn(resolve)));
    // A caller that arrives from here on may need a later change.
    this.#look = null;
    this.#lookedAt = clock.monotonic();
    if ((await store.types.revision()) !== this.revision) await this.#take(await store.types.list());
  }

  async #changed(revision: number, change: (stored: Map<string, StoredType>) => void): Promise<void> {
    if (revision <= this.revision) return;
    // Another change happened in between.
    if (revision > this.revision + 1) return this.#take(await this.#parts.store.types.list());
    const stored = new Map(this.#stored);
    change(stored);
    await this.#takeStored(revision, stored);
  }

  #take({ revision, types }: StoredTypes): Promise<void> {
    return this.#takeStored(revision, new Map(types.map((type) => [type.name, type])));
  }

  async #takeStored(revision: number, stored: ReadonlyMap<string, StoredType>): Promise<void> {
    await this.#prepare([...stored.values()], this.#usable.validates);
    // A later answer arrived first.
    if (revision < this.revision) return;
    this.#stored = stored;
    this.revision = revision;
    this.#rebuild();
  }

  /** Loads the validator if some type needs it. */
  async #prepare(stored: readonly StoredType[], validates: boolean): Promise<void> {
    const isChecked = ({ validation }: StoredType) => (validation ?? (validates ? "enforce" : "off")) !== "off";
    if (stored.some(isChecked)) await this.#loadChecks();
  }

  async #loadChecks(): Promise<SingleChecks> {
    if (this.#checks === undefined) {
      const { SingleChecks } = await import("./data-check.ts");
      this.#checks ??= new SingleChecks();
    }
    return this.#checks;
  }

  #rebuild(): void {
    const types = catalogueOf({ ...this.#usable, stored: [...this.#stored.values()] });
    this.types.clear();
    for (const [name, type] of types) this.types.set(name, type);
    const all = [...types.values()];
    this.hasDeprecated = all.some(({ deprecatedAt }) => deprecatedAt !== null);
    if (all.every(({ checks }) => checks === "off")) this.checkData = undefined;
    else if (all.every(({ origin }) => origin !== "api")) this.checkData = this.#usable.checkData;
    else this.checkData = (type, data) => this.#judge(this.types.get(type)!, data);
  }

  #judge(type: KnownType, data: Uint8Array): DataFault | null {
    if (type.checks === "off") return null;
    if (type.origin !== "api") return this.#usable.checkData?.(type.name, data) ?? null;
    const fault = this.#checks!.check(type, data);
    return fault && { ...fault, isWarning: type.checks === "warn" };
  }
}

/** Configured types that can be used. */
export interface UsableTypes {
  readonly configured: readonly EventType[];
  readonly validates: boolean;
  /** Undefined unless `[events] validate` is on. */
  readonly checkData: DataCheck | undefined;
}

/** Checks the configured types on their own, without regard to endpoints. Throws a ConfigError. */
export async function usableTypes({ eventTypes, events }: Wanted): Promise<UsableTypes> {
  const { validate: validates } = events;
  const types = catalogueOf({ configured: eventTypes, stored: [], validates });
  // The author of a schema learns of its mistakes now, not on the day when validation is switched on.
  const check = validates || eventTypes.length > 0 ? await checkOf(types.values()) : undefined;
  return { configured: eventTypes, validates, checkData: validates ? check : undefined };
}

async function checkOf(types: Iterable<KnownType>): Promise<DataCheck> {
  const { openDataCheck, UnusableType } = await import("./data-check.ts");
  try {
    return openDataCheck(types);
  } catch (error) {
    if (!(error instanceof UnusableType)) throw error;
    throw new ConfigError([{ where: WHERE, what: `${error.type} ${error.message}.` }]);
  }
}

function stillChosen({ type, endpoints, some }: TypeInUse): Mistake {
  const rest = endpoints - some.length;
  const names = [...some, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
  const who = endpoints === 1 ? "an endpoint" : `${endpoints} endpoints`;
  return {
    where: WHERE,
    what: `${type} is no longer configured, but ${who} chose it: ${names}.`,
    why: "Its events would be refused, so those endpoints would never get them.",
    todo: "Put it back and start again. To remove the type, first remove it from those endpoints, or delete them.",
  };
}

/** Repeats the work if it failed because of a type that another node has just added or deleted. */
export async function withLatestTypes<T>(catalogue: Catalogue, work: () => T | Promise<T>): Promise<T> {
  const seen = catalogue.revision;
  try {
    return await work();
  } catch (error) {
    if (!isAboutUnknownType(error)) throw error;
    await catalogue.look();
    if (catalogue.revision === seen) throw error;
    return work();
  }
}

function isAboutUnknownType(error: unknown): boolean {
  return error instanceof WebhookdError && error.errors.some(({ code }) => code === "unknown_event_type");
}
