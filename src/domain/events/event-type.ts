import { TYPE_NAME } from "./pattern.ts";

/** JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface EventType {
  readonly name: string;
  readonly description: string;
  /** `specified` if the specification fixes the data, `example` if the sample is only an example. */
  readonly source: "specified" | "example";
  /** The schema of `data`. */
  readonly schema: JsonSchema;
  /** The `data` of a test event. */
  readonly sample: Readonly<Record<string, unknown>>;
}

const TEXT: JsonSchema = { type: "string" };
const NUMBER: JsonSchema = { type: "number" };
const FLAG: JsonSchema = { type: "boolean" };
const ANY_OBJECT: JsonSchema = { type: "object" };
const INSTANT: JsonSchema = { type: "string", format: "date-time" };
const DATE: JsonSchema = { type: "string", format: "date" };
const AMOUNT: JsonSchema = { type: "object", properties: { value: TEXT, currency: TEXT } };
const TRANSACTION: JsonSchema = { type: "string", pattern: "^txn_" };
const CATEGORY: JsonSchema = {
  type: "string",
  description: "A dotted path, the widest category first.",
  pattern: String.raw`^[^.\s]+(\.[^.\s]+)*$`,
};

function data(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  return { $schema, type: "object", properties, ...(required.length > 0 && { required }) };
}

/**
 * The event types of the specification. It fixes all their names, but the data only of `transaction.enriched`. The
 * other samples are ours, so their schemas require no field and give only the types of the sample's fields. Together
 * with the configured and the stored types they form the catalogue (`catalogue.ts`).
 */
export const BUILT_IN_TYPES: readonly EventType[] = [
  {
    name: "transaction.enriched",
    description: "A transaction was matched to a merchant and a category.",
    source: "specified",
    schema: data({ transaction_id: TRANSACTION, merchant: ANY_OBJECT, category: CATEGORY }, [
      "transaction_id",
      "merchant",
      "category",
    ]),
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
    schema: data({
      transaction_id: TRANSACTION,
      original_transaction_id: TRANSACTION,
      amount: AMOUNT,
      partial: FLAG,
      matched_at: INSTANT,
    }),
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
    schema: data({
      subscription_id: TEXT,
      merchant: ANY_OBJECT,
      amount: AMOUNT,
      interval: TEXT,
      next_expected_on: DATE,
      transaction_ids: { type: "array", items: TRANSACTION },
    }),
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
    schema: data({
      budget_id: TEXT,
      category: CATEGORY,
      period: { type: "object", properties: { from: DATE, to: DATE } },
      limit: AMOUNT,
      spent: AMOUNT,
    }),
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
    schema: data({ goal_id: TEXT, name: TEXT, target: AMOUNT, saved: AMOUNT, achieved_at: INSTANT }),
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
    schema: data({
      account_id: TEXT,
      period: TEXT,
      threshold_kg: NUMBER,
      footprint_kg: NUMBER,
      largest_category: CATEGORY,
    }),
    sample: {
      account_id: "acc_5Ye1vB8jD3Nw",
      period: "2026-11",
      threshold_kg: 250,
      footprint_kg: 251.4,
      largest_category: "travel.flights",
    },
  },
];

/** The prefix of our own operational events. */
const RESERVED = "webhookd.";

/**
 * Returns why neither the configuration nor an operator may add a type of this name, as the end of a sentence. Null if
 * they may.
 */
export function nameFault(name: string): string | null {
  if (!TYPE_NAME.test(name))
    return "is not an event type name: use words of letters, digits, _ and -, separated by dots";
  if (name.startsWith(RESERVED)) return `begins with ${RESERVED}, which is reserved for the daemon's own events`;
  return BUILT_IN_TYPES.some((type) => type.name === name) ? "is built in and cannot be redefined" : null;
}
