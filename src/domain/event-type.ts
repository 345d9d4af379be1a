/** The catalogue of event types: six built in, more by configuration. */

export interface EventType {
  readonly name: string;
  readonly description: string;
  /** Whether the specification fixes the data, or the sample is ours. */
  readonly source: "specified" | "example";
  /** The `data` of a test event. */
  readonly sample: Readonly<Record<string, unknown>>;
}

/** The names are fixed by the specification. Of their data it fixes only `transaction.enriched`. */
export const EVENT_TYPES: readonly EventType[] = [
  {
    name: "transaction.enriched",
    description: "A transaction was matched to a merchant and a category.",
    source: "specified",
    sample: {
      transaction_id: "txn_4Xk9mQ2vB7Lw",
      merchant: { name: "Blue Fig Coffee", website: "https://bluefig.example", logo_url: null },
      category: "food_and_drink.coffee_shops",
    },
  },
  {
    name: "transaction.refund_matched",
    description: "A refund was matched to the purchase it pays back.",
    source: "example",
    sample: {
      transaction_id: "txn_8Rt3nC6yH1Zd",
      original_transaction_id: "txn_2Vb7kP5sJ9Fq",
      amount: { value: "39.90", currency: "EUR" },
      partial: false,
      matched_at: "2026-11-20T09:54:58Z",
    },
  },
  {
    name: "subscription.detected",
    description: "A recurring payment was recognised.",
    source: "example",
    sample: {
      subscription_id: "sub_6Hq1xT4mN8Ks",
      merchant: { name: "Northlight Streaming" },
      amount: { value: "12.99", currency: "EUR" },
      interval: "month",
      next_expected_on: "2026-12-03",
      transaction_ids: ["txn_1Gd5wS9rE3Yc", "txn_7Lp2zA8uV4Mb"],
    },
  },
  {
    name: "budget.exceeded",
    description: "Spending in a budget went over its limit.",
    source: "example",
    sample: {
      budget_id: "bud_3Jn8fW2oX6Tg",
      category: "food_and_drink",
      period: { from: "2026-11-01", to: "2026-11-30" },
      limit: { value: "400.00", currency: "EUR" },
      spent: { value: "412.35", currency: "EUR" },
    },
  },
  {
    name: "goal.achieved",
    description: "A savings goal reached its target.",
    source: "example",
    sample: {
      goal_id: "goal_9Ub4hI7kR2Pv",
      name: "Summer holiday",
      target: { value: "1500.00", currency: "EUR" },
      saved: { value: "1500.00", currency: "EUR" },
      achieved_at: "2026-11-20T09:54:31Z",
    },
  },
  {
    name: "carbon.threshold",
    description: "The carbon footprint of a month's spending crossed a threshold.",
    source: "example",
    sample: {
      account_id: "acc_5Ye1vB8jD3Nw",
      period: "2026-11",
      threshold_kg: 250,
      footprint_kg: 251.4,
      largest_category: "travel.flights",
    },
  },
];

/** Words parted by dots. The name stands unescaped in the envelope, so nothing that JSON would escape is let in. */
const NAME = /^(?=.{1,128}$)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/** The prefix of our own operational events. */
const RESERVED = "webhookd.";

/** Whether a configuration may add a type of this name. */
export function isAddableType(name: string): boolean {
  return NAME.test(name) && !name.startsWith(RESERVED) && !EVENT_TYPES.some((type) => type.name === name);
}

/** The six and the configured ones by name. Throws a `RangeError` for a name that may not be added or stands twice. */
export function catalogue(extra: Iterable<EventType> = []): Map<string, EventType> {
  const types = new Map(EVENT_TYPES.map((type) => [type.name, type]));
  for (const type of extra) {
    if (!isAddableType(type.name) || types.has(type.name)) throw new RangeError(`event type not allowed: ${type.name}`);
    types.set(type.name, type);
  }
  return types;
}
