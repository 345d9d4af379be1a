import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon, type TestDaemonOptions } from "../harness/daemon.ts";
import { closeAfter, receiverOf } from "../harness/exchange.ts";
import { TestReceiver, type Received } from "../harness/receiver.ts";

const DAY_SECONDS = 86_400;

/** Returns the names of the secrets that signed each of the two headers. */
function signersOf({ headers, body }: Received, secrets: Readonly<Record<string, string>>) {
  const id = headers["webhook-id"]!;
  const at = Number(headers["webhook-timestamp"]);
  const names = Object.keys(secrets);
  const by = (signed: (name: string) => boolean) => names.filter(signed).join(" ");
  return {
    specified: by((name) => verifyingKey(secrets[name]!).verifyBody(body, headers["x-service-signature"]!)),
    standard: by((name) => verifyingKey(secrets[name]!).verifyStandard(id, at, body, headers["webhook-signature"]!)),
  };
}

async function rotate(daemon: TestDaemon, endpoint: string, body: object = {}): Promise<string> {
  const answer = await daemon.request("POST", `/v1/webhooks/${endpoint}/rotate-secret`, body);
  expect(answer.status).toBe(200);
  return answer.body.next_signing_secret ?? answer.body.signing_secret;
}

/** Starts a daemon with one endpoint. The test moves the time. */
async function started(options: TestDaemonOptions = {}, ...script: number[]) {
  const clock = new ManualClock();
  const receiver = await receiverOf(...script);
  const daemon = await TestDaemon.start({ clock, ...options });
  const { id, signing_secret: old } = await daemon.register(receiver.url);
  /** Publishes an event, and returns the names of the secrets that signed it. */
  const signers = async (at: TestDaemon, next: string) => {
    await at.publish();
    return signersOf(await receiver.next(), { old, next });
  };
  return { clock, receiver, daemon, id, old, signers, path: `/v1/webhooks/${id}/rotate-secret` };
}

const ONLY_OLD = { specified: "old", standard: "old" };
const BOTH = { specified: "old", standard: "old next" };
const ONLY_NEXT = { specified: "next", standard: "next" };

describe("a rotation", () => {
  it("signs the given header with the old secret to the end of the overlap, the standard one with both", async () => {
    const { clock, daemon, id, signers } = await started();
    expect(await signers(daemon, "")).toEqual(ONLY_OLD);
    const next = await rotate(daemon, id);
    expect(await signers(daemon, next)).toEqual(BOTH);
    clock.advance(DAY_SECONDS * 1000 - 1);
    await daemon.daemon.tick();
    expect(await signers(daemon, next)).toEqual(BOTH);
    clock.advance(1);
    // The passing of time changes nothing by itself. The tick's commit does.
    expect(await signers(daemon, next)).toEqual(BOTH);
    await daemon.daemon.tick();
    expect(await signers(daemon, next)).toEqual(ONLY_NEXT);
    const { body } = await daemon.request("GET", `/v1/webhooks/${id}/secret`);
    expect(body).toEqual({ signing_secret: next });
  });

  it("is not taken back when the clock is set back after the switch", async () => {
    const { clock, daemon, id, signers } = await started();
    const next = await rotate(daemon, id, { overlap_seconds: 60 });
    clock.advance("1m");
    await daemon.daemon.tick();
    clock.step("-1h");
    await daemon.daemon.tick();
    expect(await signers(daemon, next)).toEqual(ONLY_NEXT);
  });

  it("goes on over restarts", async () => {
    const { clock, daemon, id, signers } = await started();
    const next = await rotate(daemon, id);
    await daemon.stop();
    const second = await TestDaemon.start({ clock, dir: daemon.dir });
    expect(await signers(second, next)).toEqual(BOTH);
    clock.advance(DAY_SECONDS * 1000);
    await second.daemon.tick();
    await second.stop();
    const third = await TestDaemon.start({ clock, dir: daemon.dir });
    expect(await signers(third, next)).toEqual(ONLY_NEXT);
  });

  it("that came to its end while nothing ran is switched before the first send", async () => {
    const { clock, daemon, id, old, receiver } = await started({}, 500);
    await daemon.publish();
    await receiver.next();
    await daemon.daemon.idle();
    const next = await rotate(daemon, id, { overlap_seconds: 10 });
    await daemon.stop();
    clock.advance("1m");
    const after = await TestDaemon.start({ clock, dir: daemon.dir });
    expect(signersOf(await receiver.next(), { old, next })).toEqual(ONLY_NEXT);
    await after.daemon.idle();
  });

  it("without an overlap is over with its answer", async () => {
    const { daemon, id, signers } = await started();
    expect(await signers(daemon, "")).toEqual(ONLY_OLD);
    const next = await rotate(daemon, id, { overlap_seconds: 0 });
    expect(await signers(daemon, next)).toEqual(ONLY_NEXT);
  });

  it("that is completed signs with the next secret alone, one that is abandoned with the old one", async () => {
    const { daemon, id, signers, path } = await started();
    const forgotten = await rotate(daemon, id);
    expect((await daemon.request("DELETE", path)).status).toBe(204);
    expect(await signers(daemon, forgotten)).toEqual(ONLY_OLD);
    const next = await rotate(daemon, id);
    expect((await daemon.request("POST", path, {})).body.code).toBe("rotation_in_progress");
    expect((await daemon.request("POST", `${path}/complete`)).status).toBe(200);
    expect(await signers(daemon, next)).toEqual(ONLY_NEXT);
  });

  it("uses a secret that was brought along as its provider does", async () => {
    const { daemon, id, signers } = await started();
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    expect(await rotate(daemon, id, { secret, overlap_seconds: 0 })).toBe(secret);
    expect(await signers(daemon, secret)).toEqual(ONLY_NEXT);
  });

  it("lets attempts say whether the present secret signed them", async () => {
    const { daemon, id } = await started();
    const event = await daemon.publish();
    await daemon.daemon.idle();
    const signer = async () => (await daemon.attempts(event))[0].secret;
    await rotate(daemon, id);
    expect(await signer()).toBe("current");
    await daemon.request("POST", `/v1/webhooks/${id}/rotate-secret/complete`);
    expect(await signer()).toBe("previous");
  });
});

/** Verifies each request on arrival, with the secrets that it has at that time. */
class Verifier {
  readonly receiver: TestReceiver;
  readonly events = new Set<string>();
  readonly refused: string[] = [];
  readonly signers: string[] = [];
  secrets: Readonly<Record<string, string>>;

  constructor(receiver: TestReceiver, header: "specified" | "standard", secrets: Readonly<Record<string, string>>) {
    this.receiver = receiver;
    this.secrets = secrets;
    receiver.onRequest = (request) => {
      const event = request.headers["webhook-id"]!;
      const signers = signersOf(request, this.secrets)[header];
      this.events.add(event);
      this.signers.push(signers);
      if (signers === "") this.refused.push(event);
    };
  }

  /** Waits until all these events have arrived. */
  async has(events: readonly string[]): Promise<void> {
    while (!events.every((event) => this.events.has(event))) await new Promise(setImmediate);
  }
}

describe("a rotation under load", () => {
  it.each(["0", "2"])("fails no verification before, during and after, with %s threads", async (threads) => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + ahead };
    const daemon = await TestDaemon.start({ clock, settings: { DELIVERY_THREADS: threads } });
    const register = async () => {
      const receiver = await receiverOf();
      return { receiver, ...(await daemon.register(receiver.url)) };
    };
    // The two endpoints are verified in the two ways.
    const [plain, standard] = [await register(), await register()];
    const checksBody = new Verifier(plain.receiver, "specified", { old: plain.signing_secret });
    const checksStandard = new Verifier(standard.receiver, "standard", { old: standard.signing_secret });
    const published: string[] = [];
    const load = { over: false };
    const publishers = Array.from({ length: 4 }, async () => {
      while (!load.over) published.push(await daemon.publish());
    });
    closeAfter(() => (load.over = true));
    const more = async (count: number) => {
      const until = published.length + count;
      while (published.length < until) await new Promise(setImmediate);
    };

    await more(20);
    const [next, nextStandard] = await Promise.all(
      [plain, standard].map(({ id }) => rotate(daemon, id, { overlap_seconds: 60 })),
    );
    checksBody.secrets = { old: plain.signing_secret, next: next! };
    await more(20);
    // Everything that was signed before the rotation has arrived, so the next secret alone is enough from here on.
    await checksStandard.has([...published]);
    checksStandard.secrets = { next: nextStandard! };
    await more(20);
    ahead = 60_000;
    for (const { id } of [plain, standard]) {
      const path = `/v1/webhooks/${id}/secret`;
      while ((await daemon.request("GET", path)).body.next_signing_secret !== undefined);
    }
    await more(20);
    load.over = true;
    await Promise.all(publishers);
    await daemon.daemon.idle();

    expect(checksBody.refused).toEqual([]);
    expect(checksStandard.refused).toEqual([]);
    expect(checksBody.events.size).toBe(published.length);
    expect(checksStandard.events.size).toBe(published.length);
    expect(new Set(checksBody.signers)).toEqual(new Set(["old", "next"]));
    expect(checksBody.signers.slice(-5)).toEqual(Array(5).fill("next"));
  });
});
