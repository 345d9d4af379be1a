import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { systemClock, type Clock } from "../../../src/clock.ts";
import type { Outcome } from "../../../src/domain/deliveries/attempt.ts";
import { printable } from "../../../src/domain/printable.ts";
import type { Egress } from "../../../src/delivery/http/egress.ts";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { caresResolve } from "../../../src/delivery/http/resolver.ts";
import { ManualClock } from "../../harness/clock.ts";
import { DialSpy, type Route } from "../../harness/dial.ts";
import { DnsServer, FakeDns, type Answer } from "../../harness/dns.ts";
import { PUBLIC_ONLY, signedRequest, testEgress } from "../../harness/egress.ts";
import { RawReceiver, type RawScript } from "../../harness/raw-receiver.ts";
import { TestReceiver } from "../../harness/receiver.ts";

/** The corpus assumes the real 10 s. Receivers and limits run five times as fast here. */
const SCALE = 5;
/** Responds just before the limit, which a busy machine would exceed. This entry runs on a clock that only it moves. */
const JUST_IN_TIME = "recv-015";
const LIMIT_MS = 10_000;
/** The corpus's times are for an idle machine. */
const BUSY = 4;
const VERY_BUSY = 20;
const HOST = "receiver.example";
const ADDRESS = "93.184.216.34";

interface Entry {
  readonly id: string;
  readonly input: Partial<RawScript> & {
    readonly name: string;
    readonly tcp?: "refused" | "blackhole";
    readonly dns?: "servfail" | "stall" | { readonly A: readonly string[] };
    readonly parallel?: number;
    readonly request_body_bytes?: number;
  };
  readonly expect: {
    readonly max_ms: number;
    readonly outcome: string;
    readonly status?: number | null;
    readonly error?: string | null;
    readonly body_error?: string;
    /** The detail must name this fault of the response. */
    readonly detail_names?: string;
    readonly body_captured_max?: number;
    readonly truncated?: boolean;
    readonly requests_seen?: number;
    readonly headers_stored_max?: number;
    readonly rendered_contains_control?: boolean;
    readonly sockets_opened?: number;
    readonly other_endpoint_p99_ms_max?: number;
    readonly connection_reused_after?: boolean;
    readonly reused?: boolean;
    readonly next_request_has_cookie?: boolean;
    readonly second_attempt?: { readonly outcome: string; readonly status?: number; readonly note?: string };
  };
}

/** The expectations that are checked below. The test refuses others, because they would pass unseen. */
const CHECKED =
  "max_ms outcome status error body_error detail_names body_captured_max truncated requests_seen headers_stored_max " +
  "rendered_contains_control sockets_opened other_endpoint_p99_ms_max connection_reused_after reused " +
  "next_request_has_cookie second_attempt";

const corpus = JSON.parse(
  readFileSync(new URL("../../corpora/hostile-receivers.json", import.meta.url), "utf8"),
) as Entry[];

// Most of the tests wait, some of them for each other.
vi.setConfig({ maxConcurrency: 20 });

describe.concurrent("a hostile receiver", () => {
  for (const entry of corpus) {
    it(`${entry.id} ${entry.input.name}`, async () => {
      const scene = await Scene.open(entry);
      try {
        await play(scene, entry);
      } finally {
        await scene.close();
      }
    });
  }
});

/**
 * Returns the time limit. Only entries that are expected to time out get the scaled one, because others could exceed it
 * on a busy machine.
 */
function limitOf({ id, expect: { error, body_error } }: Entry): number {
  const runsOut = `${error} ${body_error}`.includes("timeout") || id === JUST_IN_TIME;
  return runsOut ? LIMIT_MS / SCALE : LIMIT_MS;
}

async function play(scene: Scene, entry: Entry): Promise<void> {
  const { input, expect: wanted } = entry;
  expect(Object.keys(wanted).filter((key) => !CHECKED.split(" ").includes(key))).toEqual([]);
  const request = signedRequest(input.request_body_bytes ? { body: Buffer.alloc(input.request_body_bytes, "x") } : {});
  const startedAt = performance.now();
  const others = crowd(scene, (input.parallel ?? 1) - 1);
  const healthy = wanted.other_endpoint_p99_ms_max === undefined ? null : await slowestOfHealthy(scene.egress);
  const outcome = await scene.exchange.post(request);
  // Only the limit is scaled. The slack beyond it depends on the machine.
  expect(performance.now() - startedAt).toBeLessThan(limitOf(entry) + VERY_BUSY * (wanted.max_ms - LIMIT_MS));

  expectOutcome(outcome, wanted);
  for (const other of await others) expectOutcome(other, wanted);
  if (healthy !== null) expect(healthy).toBeLessThan(BUSY * wanted.other_endpoint_p99_ms_max!);
  if (wanted.requests_seen !== undefined) expect(scene.receiver?.requests.length).toBe(wanted.requests_seen);
  if (wanted.sockets_opened !== undefined) expect(scene.spy.dialled.length).toBe(wanted.sockets_opened);
  await expectNextAttempt(scene, wanted);
}

function expectOutcome(outcome: Outcome, wanted: Entry["expect"]): void {
  if (wanted.outcome !== "any") expect(outcome).toMatchObject({ outcome: wanted.outcome });
  if (wanted.status !== undefined) expect(outcome.statusCode).toBe(wanted.status);
  if (wanted.error !== undefined) expect(wanted.error?.split("|") ?? [null]).toContain(outcome.error);
  if (wanted.body_error !== undefined) expect(wanted.body_error.split("|")).toContain(outcome.bodyError);
  if (wanted.detail_names !== undefined) expect(outcome.detail).toContain(`(${wanted.detail_names})`);
  if (wanted.truncated !== undefined) expect(outcome.responseTruncated).toBe(wanted.truncated);
  expect(outcome.responseBody.length).toBeLessThanOrEqual(wanted.body_captured_max ?? 16_384);
  expect(Object.keys(outcome.responseHeaders).length).toBeLessThanOrEqual(wanted.headers_stored_max ?? 6);
  expect(outcome.ours).toBe(false);
  if (wanted.rendered_contains_control === false) {
    expect(printable(Buffer.from(outcome.responseBody).toString())).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
}

async function expectNextAttempt(scene: Scene, wanted: Entry["expect"]): Promise<void> {
  const mayReuse = wanted.connection_reused_after ?? wanted.reused;
  const { second_attempt: second, next_request_has_cookie: cookie } = wanted;
  if (mayReuse === undefined && second === undefined && cookie === undefined) return;
  const connections = scene.receiver!.connections;
  const outcome = await scene.exchange.post(signedRequest());
  if (mayReuse === false) expect(scene.receiver!.connections).toBe(connections + 1);
  if (cookie === false) expect(scene.receiver!.requests.at(-1)).not.toMatch(/^cookie:/im);
  if (second !== undefined) expect(outcome.outcome).toBe(second.outcome);
  if (second?.status !== undefined) expect(outcome.statusCode).toBe(second.status);
}

/** Posts to the same receiver from this many other endpoints at once. */
async function crowd(scene: Scene, size: number): Promise<Outcome[]> {
  const exchanges = Array.from({ length: size }, () => new Exchange(scene.egress, `https://${HOST}/hook`, "default"));
  const outcomes = await Promise.all(exchanges.map((exchange) => exchange.post(signedRequest())));
  await Promise.all(exchanges.map((exchange) => exchange.close()));
  return outcomes;
}

async function slowestOfHealthy(egress: Egress): Promise<number> {
  const receiver = await TestReceiver.start();
  const exchange = new Exchange(egress, `http://healthy.example:${receiver.port}/hook`, "default");
  let slowest = 0;
  for (let i = 0; i < 20; i++) {
    const startedAt = performance.now();
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  await exchange.close();
  await receiver.close();
  return slowest;
}

/** A receiver, names that resolve to it, and the exchange of one endpoint. */
class Scene {
  readonly receiver: RawReceiver | null;
  readonly spy: DialSpy;
  readonly egress: Egress;
  readonly exchange: Exchange;
  readonly #dns: DnsServer;

  private constructor(receiver: RawReceiver | null, dns: DnsServer, entry: Entry, clock: Clock) {
    const { input } = entry;
    this.receiver = receiver;
    this.#dns = dns;
    const healthy = new FakeDns({ "healthy.example": [[ADDRESS]] });
    const cares = caresResolve({ servers: [dns.address] });
    this.spy = new DialSpy((_ip, port): Route => (port === 443 ? (input.tcp ?? receiver?.port ?? "refused") : port));
    this.egress = testEgress({
      clock,
      policy: PUBLIC_ONLY,
      resolve: (name) => (name === HOST ? cares(name) : healthy.resolve(name)),
      dial: (ip, port) => this.spy.dial(ip, port),
      timeoutMs: limitOf(entry),
      bodyMs: limitOf(entry) / 10,
    });
    const scheme = input.tls === undefined ? "http" : "https";
    this.exchange = new Exchange(this.egress, `${scheme}://${HOST}:443/hook`, "default");
  }

  static async open(entry: Entry): Promise<Scene> {
    const { input } = entry;
    const answer: Answer = typeof input.dns === "object" ? input.dns.A : (input.dns ?? [ADDRESS]);
    const dns = await DnsServer.start({ [HOST]: answer });
    const manual = entry.id === JUST_IN_TIME ? new ManualClock() : null;
    const pass = manual === null ? undefined : (ms: number) => manual.advance(ms);
    const receiver = input.steps === undefined ? null : await RawReceiver.start(input as RawScript, SCALE, pass);
    return new Scene(receiver, dns, entry, manual ?? systemClock);
  }

  async close(): Promise<void> {
    await this.exchange.close();
    this.egress.close();
    await this.receiver?.close();
    await this.#dns.close();
  }
}
