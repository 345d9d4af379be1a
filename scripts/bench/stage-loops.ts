/** Runs each stage that an event passes in a loop of its own, without the other stages. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../src/clock.ts";
import { Egress } from "../../src/delivery/http/egress.ts";
import { Exchange } from "../../src/delivery/http/exchange.ts";
import { FairQueue } from "../../src/delivery/send/fair-queue.ts";
import type { SenderSettings } from "../../src/delivery/send/open-sender.ts";
import { Signer } from "../../src/delivery/send/signer.ts";
import { ThreadPort } from "../../src/delivery/threads/thread-port.ts";
import { plainSuccess } from "../../src/domain/deliveries/attempt.ts";
import type { Claim, Send } from "../../src/domain/deliveries/delivery.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/endpoints/endpoint.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { scanJson, scanObject } from "../../src/domain/json/json.ts";
import { openStore } from "../../src/store/opening/open.ts";
import { ENDPOINT, ENVELOPE, EVENT_TYPE, publishText, ROOM, SECRET, SIGNATURE, targetOf } from "./payload.ts";
import { remove, scratch } from "./scratch.ts";
import { openStorelessApi } from "./storeless-api.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** Measures only the time inside `run`, for rounds that also do other work. */
export interface Meter {
  run<T>(measured: () => T | Promise<T>): Promise<T>;
}

export interface Loop {
  /** Runs some milliseconds of the stage. Returns the number of events that passed it. */
  round(meter: Meter): Promise<number>;
  close?(): Promise<void> | void;
}

/** Publishing as it happens: requests of 100 events, some of which share a commit, or one event per request. */
export const SHAPES = { batches: { events: 100, requests: 3 }, single: { events: 1, requests: 32 } } as const;
export type Shape = keyof typeof SHAPES;

/** The number of events for a loop without a shape. */
const MANY = 300;
const WIRE_PARALLEL = 32;
const TYPE_AND_DATA = Buffer.from(publishText(false));
const ADDRESSES = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: true, ownPort: 0 };
const EGRESS = { addresses: ADDRESSES, resolver: "c-ares", caFile: "", timeoutMs: 10_000 } as const;

export const LOOPS = {
  /** Other processes send the requests, and `told` gets the address. Includes the scan. */
  async http(started: (at: object) => void): Promise<Loop> {
    let published = 0;
    started(await openStorelessApi((claims) => (published += claims.length)));
    return {
      async round(meter) {
        const before = published;
        await meter.run(() => sleep(100));
        return published - before;
      },
    };
  },

  scan(shape: Shape): Loop {
    const { events } = SHAPES[shape];
    const text = TYPE_AND_DATA.toString();
    const body = events === 1 ? TYPE_AND_DATA : Buffer.from(`{"events":[${Array(events).fill(text).join(",")}]}`);
    const scan = () => (events === 1 ? scanObject(body) : scanJson(body, { outline: 3 }));
    return syncLoop(MANY, () => {
      for (let scanned = 0; scanned < MANY; scanned += events) scan();
    });
  },

  publish: (shape: Shape) => storeLoop(shape, "publish"),
  record: (shape: Shape) => storeLoop(shape, "record"),

  hop(): Loop {
    const sends = sendsOf(MANY);
    let left = 0;
    let done = () => {};
    const port = new ThreadPort({
      start: (workerData) => new Worker(new URL("hop-thread.ts", import.meta.url), { workerData }),
      settings: {} as SenderSettings,
      clock: systemClock,
      onEnded: (batch) => (left -= batch.length) === 0 && done(),
      onError: fail,
      onDeath: () => {},
    });
    return {
      async round(meter) {
        left = MANY;
        await meter.run(() => {
          port.send(sends);
          return new Promise<void>((resolve) => (done = resolve));
        });
        return MANY;
      },
      close: () => port.close(),
    };
  },

  queue(): Loop {
    const queue = new FairQueue(256, 1024);
    const sends = sendsOf(MANY);
    return syncLoop(MANY, () => {
      for (const send of sends) queue.add(send);
      let now = 0;
      for (let left = MANY; left > 0;) {
        const started: Send[] = [];
        for (let send = queue.next(now); send !== undefined; send = queue.next(now)) started.push(send);
        for (const send of started) queue.ended(send, "fast");
        left -= started.length;
        now += 1;
      }
    });
  },

  sign(): Loop {
    const signer = new Signer(targetOf("http://127.0.0.1/"), SIGNATURE);
    const [send] = sendsOf(1);
    return syncLoop(MANY, () => {
      for (let signed = 0; signed < MANY; signed++) signer.sign(send!, 1_780_000_000);
    });
  },

  /** Posts to a receiver that another process runs. */
  wire(url: string): Loop {
    const egress = new Egress(EGRESS, systemClock, { resolve: () => fail("look-up"), ownAddresses: () => [] });
    const exchange = new Exchange(egress, url, "default");
    const signed = new Signer(targetOf(url), SIGNATURE).sign(sendsOf(1)[0]!, 1_780_000_000);
    const post = async () => {
      for (let sent = 0; sent < MANY / WIRE_PARALLEL; sent++) {
        // Each attempt makes a new list of headers.
        const { error } = await exchange.post({ ...signed, headers: [...signed.headers] });
        if (error !== null) fail(error);
      }
    };
    return {
      async round(meter) {
        await meter.run(() => Promise.all(Array.from({ length: WIRE_PARALLEL }, post)));
        return WIRE_PARALLEL * Math.ceil(MANY / WIRE_PARALLEL);
      },
      close() {
        unawaited(exchange.close());
        egress.close();
      },
    };
  },
};

function syncLoop(events: number, pass: () => void): Loop {
  return {
    async round(meter) {
      await meter.run(pass);
      return events;
    },
  };
}

/** Uses a store on the disk. Events published in a round are also recorded in it, and one of the two is measured. */
async function storeLoop(shape: Shape, measured: "publish" | "record"): Promise<Loop> {
  const { events, requests } = SHAPES[shape];
  const dir = scratch();
  const { store } = await openStore({ dir, create: true, diskFloor: 0, clock: systemClock, onFault: fail });
  const url = "http://127.0.0.1/";
  const endpoint = { ...DEFAULT_SETTINGS, id: ENDPOINT, tenant: "default", url, events: [EVENT_TYPE] };
  await store.endpoints.add({ ...endpoint, signingSecret: SECRET }, 1, Date.now());
  const data = TYPE_AND_DATA.subarray(TYPE_AND_DATA.indexOf('"data":') + '"data":'.length, -1);
  const draft = (): EventDraft => ({ tenant: "default", type: EVENT_TYPE, createdAt: Date.now(), data });
  const publish = async () => {
    const now = Date.now();
    const asked = Array.from({ length: requests }, () =>
      store.events.publish(Array.from({ length: events }, draft), now, ROOM),
    );
    return (await Promise.all(asked)).flat().flatMap(({ fresh }) => fresh);
  };
  const record = async (claims: readonly Claim[]) => {
    const startedAt = Date.now();
    const verdict = { status: "delivered" } as const;
    const ended = claims.map((claim) => {
      const outcome = plainSuccess(200, 2, { remoteAddress: "127.0.0.1" });
      return { claim, url, startedAt, outcome, verdict, secretVersion: 1 };
    });
    await store.deliveries.record(ended);
  };
  return {
    async round(meter) {
      const claims = measured === "publish" ? await meter.run(publish) : await publish();
      if (measured === "record") await meter.run(() => record(claims));
      else await record(claims);
      return claims.length;
    },
    async close() {
      await store.close();
      remove(dir);
    },
  };
}

function sendsOf(count: number): Send[] {
  return Array.from({ length: count }, () => {
    const id = randomBytes(13).toString("hex");
    const common = { number: 1, trigger: "ladder", fresh: true } as const;
    return { event: `evt_${id}`, delivery: `dlv_${id}`, endpoint: ENDPOINT, body: Buffer.from(ENVELOPE), ...common };
  });
}

function fail(error: unknown): never {
  throw error instanceof Error ? error : new Error(String(error));
}
