/**
 * Measures who receives what: one evaluation of a filter, the signatures, and a publish to a tenant with thousands of
 * endpoints of which ten match, by name, by pattern and by filter.
 */
import { randomBytes } from "node:crypto";
import { systemClock } from "../../src/clock.ts";
import { AsymmetricSigningKey, newPrivateKey } from "../../src/domain/endpoints/asymmetric.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/endpoints/endpoint.ts";
import { newSigningSecret, signingKey } from "../../src/domain/endpoints/secret.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { matches } from "../../src/domain/events/filter/evaluate.ts";
import { type FilterDocument, isFilter, parseFilter } from "../../src/domain/events/filter/filter.ts";
import { newId } from "../../src/domain/id.ts";
import { openStore } from "../../src/store/opening/open.ts";
import type { Store } from "../../src/store/store.ts";
import { startThread } from "../../src/thread.ts";
import { monotonic } from "./ledger.ts";
import { atMost, Measures, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { ENVELOPE, EVENT_TYPE, NO_ROOM } from "./payload.ts";
import { remove, scratch } from "./scratch.ts";

const ROUNDS = 3;
const MATCHING = 10;
const MANY = 10_000;
const TOGETHER = 500;
const PUBLISHES = 200;
const OTHER_TYPE = "other.type";
const DATA = { amount: 2000, currency: "EUR", customer: "c", account: { country: "DE", plan: "pro-2" } };
const FIVE = {
  data: {
    amount: { $gt: 1000, $lt: 5000 },
    currency: "EUR",
    account: { country: { $in: ["DE", "FR"] }, plan: { $startsWith: "pro" } },
  },
};

export async function filters(options: BenchOptions): Promise<Measure[]> {
  const rounds = options.rounds ?? ROUNDS;
  const measures = new Measures("filters");
  const read = parseFilter(FIVE);
  if (!isFilter(read)) throw new Error("the filter of the bench is none");
  const subject = { type: EVENT_TYPE, tags: [], data: JSON.parse(JSON.stringify(DATA)) as unknown };
  const evaluated = eachRound(rounds, () => matches(read, subject));
  measures.add("a filter of five conditions", "µs", evaluated, atMost("", 2));
  const [hmac, ed25519] = [
    signingKey(newSigningSecret(randomBytes)),
    new AsymmetricSigningKey(newPrivateKey(randomBytes)),
  ];
  measures.add(
    "a signature v1, of 1 KB",
    "µs",
    eachRound(rounds, () => hmac.signStandard("evt_1", 1, ENVELOPE)),
  );
  measures.add(
    "a signature v1a, of 1 KB",
    "µs",
    eachRound(rounds, () => ed25519.signStandard("evt_1", 1, ENVELOPE)),
  );
  await measurePublish(measures, rounds, options);
  return measures.all;
}

/** Returns the microseconds of one call in each round: the least of many short loops, which others disturb less. */
function eachRound(rounds: number, call: () => unknown): number[] {
  const LOOPS = 60;
  const CALLS = 300;
  return Array.from({ length: rounds }, () => {
    let least = Number.POSITIVE_INFINITY;
    for (let loop = 0; loop < LOOPS; loop++) {
      const begun = monotonic();
      for (let at = 0; at < CALLS; at++) call();
      least = Math.min(least, monotonic() - begun);
    }
    return (least * 1000) / CALLS;
  });
}

interface Own {
  readonly events: readonly string[];
  readonly filter: FilterDocument | null;
}

/** The endpoints that match, and those that do not, by the place of each. */
const WAYS: Readonly<Record<string, { readonly matching: Own; readonly other: (at: number) => Own }>> = {
  name: {
    matching: { events: [EVENT_TYPE], filter: null },
    other: () => ({ events: [OTHER_TYPE], filter: null }),
  },
  pattern: {
    matching: { events: [EVENT_TYPE.replace(/\.\w+$/, ".*")], filter: null },
    other: (at) => ({ events: [`other${at % 100}.*`], filter: null }),
  },
  "the same filter": {
    matching: { events: ["*"], filter: FIVE },
    other: (at) => ({ events: ["*"], filter: { data: { amount: { $gt: 10_000 + (at % 3) } } } }),
  },
  "a filter of its own": {
    matching: { events: ["*"], filter: { data: { customer: "c" } } },
    other: (at) => ({ events: ["*"], filter: { data: { customer: `c${at}`, currency: "EUR" } } }),
  },
};

async function measurePublish(measures: Measures, rounds: number, { note }: BenchOptions): Promise<void> {
  const dir = scratch();
  const store = await openIn(dir);
  try {
    for (const [way, { matching, other }] of Object.entries(WAYS)) {
      note(`registering ${MANY} endpoints that choose by ${way}`);
      const own = Array.from({ length: MANY }, (_, at) => (at % (MANY / MATCHING) === 0 ? matching : other(at)));
      await register(
        store,
        `few ${way}`,
        own.filter((one) => one === matching),
      );
      await register(store, `many ${way}`, own);
      const [few, many] = await publishes(store, way, rounds);
      const ended = `${MATCHING} of ${MANY} match by ${way}`;
      measures.add(`publish, ${ended}: p50`, "ms", many.p50);
      measures.add(`publish, ${ended}: p50 ÷ ${MATCHING} endpoints`, "×", ratios(many.p50, few.p50), atMost("", 1.2));
      measures.add(`publish, ${ended}: CPU ÷ ${MATCHING} endpoints`, "×", ratios(many.cpu, few.cpu), atMost("", 1.2));
    }
  } finally {
    await store.close();
    remove(dir);
  }
}

/** The medians of each round. */
interface Side {
  readonly p50: number[];
  readonly cpu: number[];
}

/** The two tenants take turns, so that the machine is the same for both. The first round prepares statements. */
async function publishes(store: Store, way: string, rounds: number): Promise<[few: Side, many: Side]> {
  const sides: [Side, Side] = [
    { p50: [], cpu: [] },
    { p50: [], cpu: [] },
  ];
  for (let round = 0; round <= rounds; round++) {
    const took: [Side, Side] = [
      { p50: [], cpu: [] },
      { p50: [], cpu: [] },
    ];
    for (let at = 0; at < PUBLISHES; at++) {
      for (const side of at % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const [begun, cpu] = [monotonic(), process.cpuUsage()];
        await publish(store, tenantOf(side === 0 ? `few ${way}` : `many ${way}`));
        const { user, system } = process.cpuUsage(cpu);
        took[side].p50.push(monotonic() - begun);
        took[side].cpu.push(user + system);
      }
    }
    if (round === 0) continue;
    for (const side of [0, 1] as const)
      for (const value of ["p50", "cpu"] as const) sides[side][value].push(percentile(took[side][value], 0.5));
  }
  return sides;
}

const tenantOf = (name: string) => name.replaceAll(" ", "-");

async function register(store: Store, name: string, own: readonly Own[]): Promise<void> {
  const tenant = tenantOf(name);
  for (let from = 0; from < own.length; from += TOGETHER) {
    const some = own.slice(from, from + TOGETHER);
    const now = systemClock.now();
    const add = (more: Own) => {
      const id = newId("ep", now, randomBytes(10));
      const fixed = { id, tenant, url: "https://receiver.example/hook", signingSecret: "whsec_c2VjcmV0" };
      return store.endpoints.add({ ...DEFAULT_SETTINGS, ...fixed, ...more }, own.length, now);
    };
    await Promise.all(some.map(add));
  }
}

async function publish(store: Store, tenant: string): Promise<void> {
  const now = systemClock.now();
  const draft: EventDraft = { tenant, type: EVENT_TYPE, createdAt: now, data: Buffer.from(JSON.stringify(DATA)) };
  const [publication] = await store.events.publish([draft], now, NO_ROOM);
  if (publication!.deliveries !== MATCHING) throw new Error(`${tenant} got ${publication!.deliveries} deliveries`);
}

async function openIn(dir: string): Promise<Store> {
  const { store } = await openStore({
    dir,
    create: true,
    diskFloor: 0,
    clock: systemClock,
    startBackup: (data) => startThread("backup", data),
    onFault: (error) => {
      throw error;
    },
  });
  return store;
}
