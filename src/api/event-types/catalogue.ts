/** The event types of a running daemon, and what configured ones must agree with: themselves, and what endpoints chose. */
import type { Config } from "../../config.ts";
import { ConfigError, type Mistake } from "../../config/error.ts";
import { ALERT_TYPES } from "../../domain/alert.ts";
import { catalogue } from "../../domain/events/built-in-types.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import type { EndpointStore, TypeInUse } from "../../store/store.ts";
import type { DataCheck } from "./data-check.ts";

const WHERE = "[[event_types]]";

interface Endpoints {
  readonly endpoints: Pick<EndpointStore, "typesInUse">;
}

type Wanted = Pick<Config, "eventTypes" | "events">;

export class Catalogue {
  readonly #store: Endpoints;
  /** Always the same map, whose entries change. */
  readonly types = new Map<string, EventType>();
  /** Undefined unless `[events] validate`. */
  checkData: DataCheck | undefined;

  private constructor(store: Endpoints) {
    this.#store = store;
  }

  /** Throws a ConfigError. */
  static async open(wanted: Wanted, store: Endpoints): Promise<Catalogue> {
    const opened = new Catalogue(store);
    await opened.change(wanted);
    return opened;
  }

  /** All of it, or a ConfigError and nothing. */
  async change({ eventTypes, events }: Wanted): Promise<void> {
    const types = catalogue(eventTypes);
    // Whoever writes a schema hears of its mistakes now, not on the day when validation is switched on.
    const check = events.validate || eventTypes.length > 0 ? await checkOf(types.values()) : undefined;
    const removed = await this.#store.endpoints.typesInUse([...types.keys(), ...ALERT_TYPES]);
    if (removed.length > 0) throw new ConfigError(removed.map(stillChosen));
    this.types.clear();
    for (const [name, type] of types) this.types.set(name, type);
    this.checkData = events.validate ? check : undefined;
  }
}

async function checkOf(types: Iterable<EventType>): Promise<DataCheck> {
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
    what: `${type} is not configured any more, and ${who} chose it: ${names}.`,
    why: "Its events would be refused, and those endpoints would never hear of it.",
    todo: "Put it back and start; to remove it, first take it out of those endpoints' events, or delete them.",
  };
}
