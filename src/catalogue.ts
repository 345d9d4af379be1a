/** What the configured event types have to agree with before anything is served: themselves, and what endpoints chose. */
import { openDataCheck, UnusableType, type DataCheck } from "./api/data-check.ts";
import type { Config } from "./config.ts";
import { ConfigError } from "./config/error.ts";
import { catalogue } from "./domain/event-type.ts";
import type { Store, TypeInUse } from "./store/store.ts";

const WHERE = "[[event_types]]";

/** The check for publishes, undefined while it is off. Throws a ConfigError. */
export async function openCatalogue(
  { eventTypes, events }: Pick<Config, "eventTypes" | "events">,
  store: Pick<Store, "typesInUse">,
): Promise<DataCheck | undefined> {
  const types = catalogue(eventTypes);
  const removed = await store.typesInUse([...types.keys()]);
  if (removed.length > 0) throw new ConfigError(removed.map(stillChosen));
  // Whoever writes a schema hears of its mistakes at the start, not on the day when it is switched on.
  if (!events.validate && eventTypes.length === 0) return undefined;
  try {
    const check = await openDataCheck(types.values());
    return events.validate ? check : undefined;
  } catch (error) {
    if (!(error instanceof UnusableType)) throw error;
    throw new ConfigError([{ where: WHERE, what: `${error.type} ${error.message}.` }]);
  }
}

function stillChosen({ type, endpoints, some }: TypeInUse) {
  const rest = endpoints - some.length;
  const names = [...some, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
  return {
    where: WHERE,
    what: `${type} is not configured any more, and ${endpoints === 1 ? "an endpoint chose" : `${endpoints} endpoints chose`} it: ${names}.`,
    why: "Its events would be refused, and those endpoints would never hear of it.",
    todo: "Put it back and start; to remove it, first take it out of those endpoints' events, or delete them.",
  };
}
