import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { onTestFinished, describe, expect, it, vi } from "vitest";
import { parseToken } from "../../../src/domain/caller.ts";
import { ApiServer } from "../server.ts";
import { anEnd, aStore } from "../sqlite.ts";
import { addEndpoint, draft, withCapacity } from "../../store/fixtures.ts";

interface Message {
  readonly event: string;
  readonly data: any;
}

/** A client of the stream: the messages that it got, and the id with which to resume. */
class Follower {
  readonly messages: Message[] = [];
  lastId = "";
  ended = false;
  response!: IncomingMessage;

  static async open(api: ApiServer, { query = "", key = api.adminKey, lastId = "" } = {}): Promise<Follower> {
    const follower = new Follower();
    const headers = { authorization: `Bearer ${key}`, ...(lastId && { "last-event-id": lastId }) };
    const req = request({ port: api.port, path: `/v1/webhooks/stream${query}`, headers, agent: false });
    req.end();
    [follower.response] = (await once(req, "response")) as [IncomingMessage];
    expect(follower.response.headers["content-type"]).toBe("text/event-stream");
    let text = "";
    follower.response.on("data", (chunk) => {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        follower.#read(text.slice(0, end));
        text = text.slice(end + 2);
      }
    });
    follower.response.on("close", () => (follower.ended = true));
    follower.response.on("error", () => {});
    onTestFinished(() => void follower.response.destroy());
    await until(() => follower.lastId !== "");
    return follower;
  }

  of(event: string): any[] {
    return this.messages.filter((message) => message.event === event).map(({ data }) => data);
  }

  #read(block: string): void {
    const field = (name: string) => block.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
    this.lastId = field("id") ?? this.lastId;
    const data = field("data");
    if (data !== undefined) this.messages.push({ event: field("event")!, data: JSON.parse(data) });
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}

async function serve() {
  const api = await ApiServer.start(await aStore());
  const endpoint = await addEndpoint(api.store);
  const others = await addEndpoint(api.store, { tenant: "other" });
  /** Publishes an event to a tenant, and ends its attempts. */
  const happen = async (to: "delivered" | "failed", tenant = "default") => {
    const [publication] = await api.store.events.publish([draft({ tenant })], api.clock.now(), withCapacity);
    api.feed.accepted(publication!);
    for (const claim of publication!.fresh) {
      const ended = anEnd(claim, api.clock.now(), to);
      api.feed.attempted(ended, (await api.store.deliveries.record([ended]))[0]!);
    }
    return publication!.id;
  };
  const gathered = () => {
    api.clock.advance(250);
    return new Promise(setImmediate);
  };
  return { api, endpoint, others, happen, gathered };
}

describe("the stream", () => {
  it("is not left open by a HEAD, which nobody reads", async () => {
    const { api } = await serve();
    const { status, headers, text } = await api.request("HEAD", "/v1/webhooks/stream");
    expect({ status, text, type: headers["content-type"] }).toEqual({
      status: 200,
      text: "",
      type: "text/event-stream",
    });
    await until(() => api.feed.listeners === 0);
  });

  it("is not left open by a client that went away before it was answered", async () => {
    const { api } = await serve();
    const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const get = api.store.keys.get.bind(api.store.keys);
    vi.spyOn(api.store.keys, "get").mockImplementation(async (id) => {
      asked.resolve();
      await gone.promise;
      return get(id);
    });
    const closed = vi.fn();
    api.server.on("request", (_req, res) => res.once("close", closed));
    const socket = connect(api.port, "127.0.0.1");
    socket.write(
      `GET /v1/webhooks/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api.adminKey}\r\n\r\n`,
    );
    await asked.promise;
    const subscribed = vi.spyOn(api.feed, "subscribe");
    socket.destroy();
    await until(() => closed.mock.calls.length === 1);
    gone.resolve();
    await until(() => subscribed.mock.calls.length === 1);
    await new Promise(setImmediate);
    expect(api.feed.listeners).toBe(0);
  });

  it("reports deliveries and the outcomes of attempts to clients that may see them", async () => {
    const { api, endpoint, others, happen, gathered } = await serve();
    const [all, mine, failed] = [
      await Follower.open(api),
      await Follower.open(api, { key: await api.addKey(["read"]) }),
      await Follower.open(api, { query: `?status=failed&endpoint=${endpoint}` }),
    ];
    const [event, hidden] = [await happen("failed"), await happen("delivered", "other")];
    await gathered();
    await until(() => all.of("attempt").length === 2 && mine.of("attempt").length === 1);
    expect(all.of("delivery").map((each) => [each.event, each.status, each.tenant])).toEqual([
      [event, "pending", "default"],
      [hidden, "pending", "other"],
    ]);
    expect(mine.of("attempt")).toMatchObject([
      { event, endpoint, tenant: "default", status: "failed", outcome: "failed", number: 1, next_attempt_at: null },
    ]);
    await until(() => failed.messages.length === 2);
    expect(failed.messages.map((message) => message.event)).toEqual(["ready", "attempt"]);
    api.feed.changed(others);
    await gathered();
    await until(() => all.of("endpoint").length === 1);
    expect(mine.of("endpoint")).toEqual([]);
  });

  it("does not report failed deliveries as cancelled, nor the outcomes of tests", async () => {
    const { api, endpoint, happen, gathered } = await serve();
    const follower = await Follower.open(api);
    const failed = await happen("failed");
    const { fresh } = (
      await api.store.events.publish([draft({ testFor: endpoint })], api.clock.now(), withCapacity)
    )[0]!;
    await api.store.deliveries.record([anEnd(fresh[0]!, api.clock.now(), "failed")]);
    const test = fresh[0]!.event;
    await gathered();
    await until(() => follower.of("attempt").length === 1);
    const told = follower.messages.length;

    const [delivery] = (await api.get(`/v1/webhooks/events/${failed}`)).body.deliveries;
    expect((await api.post(`/v1/webhooks/deliveries/${delivery.id}/attempt`, "")).status).toBe(202);
    expect((await api.post(`/v1/webhooks/events/${failed}/cancel`, "")).body).toMatchObject({ status: "failed" });
    expect((await api.post(`/v1/webhooks/events/${test}/retry`, "")).status).toBe(202);
    expect((await api.post(`/v1/webhooks/events/${test}/cancel`, "")).body).toMatchObject({ status: "cancelled" });
    // If nothing had been accepted or withdrawn, there would be nothing to report.
    expect([api.accepted.length, api.withdrawn.length]).toEqual([1, 2]);
    const job = { action: "cancel", filter: { test: true, endpoint } };
    const again = (await api.store.events.publish([draft({ testFor: endpoint })], api.clock.now(), withCapacity))[0]!;
    const { body } = await api.post("/v1/webhooks/jobs", job);
    const step = await api.store.jobs.step(body.id, [{ endpoint, limit: 1, check: false }], api.clock.now());
    expect(step.withdrawn).toMatchObject([{ delivery: again.fresh[0]!.delivery }]);

    api.feed.accepted(api.accepted[0]!);
    api.feed.withdrawn([...api.withdrawn, ...step.withdrawn]);
    const last = await happen("delivered");
    await gathered();
    await until(() => follower.of("attempt").length === 2);
    expect(follower.messages.slice(told).map(({ data }) => [data.event, data.status])).toEqual([
      [last, "pending"],
      [last, "delivered"],
    ]);
  });

  it("misses nothing over a dropped connection, and says so where it cannot know", async () => {
    const { api, happen, gathered } = await serve();
    const before = await Follower.open(api);
    const first = await happen("failed");
    await gathered();
    await until(() => before.of("attempt").length === 1 && before.lastId.endsWith("-1"));
    before.response.destroy();
    await until(() => api.feed.listeners === 0);
    const missed = [await happen("delivered"), await happen("failed")];
    await gathered();
    missed.push(await happen("failed"));
    await gathered();

    const after = await Follower.open(api, { lastId: before.lastId });
    await until(() => after.of("attempt").length === 3);
    expect(after.of("attempt").map(({ event }) => event)).toEqual(missed);
    expect(after.of("reload")).toEqual([]);
    expect(before.of("attempt").map(({ event }) => event)).toEqual([first]);

    after.response.destroy();
    await until(() => api.feed.listeners === 0);
    api.clock.advance("61s");
    await happen("failed");
    const late = await Follower.open(api, { lastId: after.lastId });
    expect(late.messages.map(({ event }) => event)).toEqual(["reload"]);
    const stranger = await Follower.open(api, { lastId: "abc-0" });
    expect(stranger.messages.map(({ event }) => event)).toEqual(["reload"]);
  });

  it("hands on all that a client missed, more than its socket takes, and then what came meanwhile", async () => {
    const { api, endpoint, gathered } = await serve();
    let changes = 0;
    const changeMuch = () => {
      const waiting = Array.from({ length: 100 }, () => {
        return { endpoint, event: String(changes++).padStart(5_000, "e"), dueAt: 0 };
      });
      api.feed.accepted({ fresh: [], waiting });
      return gathered();
    };
    const before = await Follower.open(api);
    await changeMuch();
    await until(() => before.lastId.endsWith("-1"));
    before.response.destroy();
    await until(() => api.feed.listeners === 0);
    for (let batch = 0; batch < 9; batch++) await changeMuch();

    const after = await Follower.open(api, { lastId: before.lastId });
    after.response.pause();
    for (let batch = 0; batch < 2; batch++) await changeMuch();
    after.response.resume();
    await until(() => after.lastId.endsWith("-12") || after.ended);
    const told = [...before.of("delivery"), ...after.of("delivery")];
    expect(told.map(({ event }) => Number(event.replaceAll("e", "")))).toEqual([...Array(1200).keys()]);
  });

  it("asks a client to reload that was away for longer than the ring holds", async () => {
    const { api, happen, gathered } = await serve();
    const [keeping, away] = [await Follower.open(api), await Follower.open(api)];
    away.response.destroy();
    for (let batch = 0; batch < 30; batch++) {
      for (let count = 0; count < 50; count++) api.feed.changed(`ep_${batch}${count}`);
      await happen("failed");
      await gathered();
    }
    await until(() => keeping.of("attempt").length === 30);
    const back = await Follower.open(api, { lastId: away.lastId });
    expect(back.messages.map(({ event }) => event)).toEqual(["reload"]);
  });

  it("counts changes that are too many to report one by one", async () => {
    const { api, endpoint, gathered } = await serve();
    const follower = await Follower.open(api);
    for (let count = 0; count < 5000; count++)
      api.feed.accepted({ fresh: [], waiting: [{ endpoint, event: "e", dueAt: 0 }] });
    await gathered();
    await until(() => follower.of("counts").length === 1);
    expect(follower.of("delivery")).toHaveLength(100);
    expect(follower.of("counts")[0].data).toMatchObject([{ endpoint, status: "pending", count: 4900 }]);
  });

  it("reports only a tenant's own changes to it, even when the cache of tenants starts anew", async () => {
    const { api, endpoint, others, gathered } = await serve();
    const [all, mine] = [await Follower.open(api), await Follower.open(api, { key: await api.addKey(["read"]) })];
    api.feed.changed(endpoint);
    await gathered();
    await until(() => mine.of("endpoint").length === 1);
    for (let count = 1; count < 10_000; count++) api.feed.changed(`ep_${count}`);
    await gathered();
    await until(() => all.of("counts").length === 1);
    for (const id of [endpoint, others, endpoint]) api.feed.changed(id);
    await gathered();
    await expect.poll(() => mine.of("endpoint").length).toBe(3);
  });

  it("drops a client that does not read, and no other", async () => {
    const { api, endpoint, gathered } = await serve();
    const follower = await Follower.open(api);
    const stalled = connect(api.port, "127.0.0.1").pause();
    stalled.on("error", () => {});
    onTestFinished(() => void stalled.destroy());
    stalled.write(
      `GET /v1/webhooks/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api.adminKey}\r\n\r\n`,
    );
    await until(() => api.feed.listeners === 2);
    let batches = 0;
    for (; api.feed.listeners === 2 && batches < 1000; batches++) {
      const waiting = Array.from({ length: 100 }, () => ({ endpoint, event: "e".repeat(500), dueAt: 0 }));
      api.feed.accepted({ fresh: [], waiting });
      await gathered();
      await until(() => follower.of("delivery").length === 100 * (batches + 1));
    }
    expect(api.feed.listeners).toBe(1);
    expect(follower.ended).toBe(false);
  });

  it("reports only its own endpoints to a link for some of them, and ends with the key that made it", async () => {
    const { api, happen, gathered } = await serve();
    const mine = await addEndpoint(api.store);
    const maker = await api.addKey(["read"]);
    const { body } = await api.post("/v1/portal-links", { endpoints: [mine] }, { key: maker });
    const follower = await Follower.open(api, { key: body.url.split("#")[1] });
    // Both endpoints of the tenant get each event. Attempts in bulk are only counted.
    await happen("failed");
    await gathered();
    api.feed.accepted({ fresh: [], waiting: [{ endpoint: mine, event: "evt", dueAt: 0 }] });
    for (let count = 0; count < 60; count++) await happen("delivered");
    await gathered();
    await until(() => follower.of("counts").length > 0);
    const told = follower.messages.flatMap(({ event, data }) => (event === "counts" ? data.data : [data]));
    expect(new Set(told.flatMap(({ endpoint }) => endpoint ?? []))).toEqual(new Set([mine]));
    await api.store.keys.revoke(parseToken(maker)!.keyId, api.clock.now());
    api.clock.advance("1s");
    await until(() => follower.ended);
  });

  it("ends within a second of its key's end, by one timer however many streams there are", async () => {
    const { api } = await serve();
    const expiring = await api.addKey(["read"], "*", { expiresAt: api.clock.now() + 3000 });
    const revoked = await api.addKey(["read"]);
    const streams = await Promise.all([expiring, expiring, revoked].map((key) => Follower.open(api, { key })));
    const lasting = await Follower.open(api, { key: await api.addKey(["read"]) });
    const reads = vi.spyOn(api.store.keys, "get");
    api.clock.advance("1s");
    await until(() => reads.mock.calls.length === 3);
    // The key is revoked in the store, without a request to this daemon.
    await api.store.keys.revoke(parseToken(revoked)!.keyId, api.clock.now());
    api.clock.advance("1s");
    await until(() => streams[2]!.ended);
    expect(streams.map(({ ended }) => ended)).toEqual([false, false, true]);
    api.clock.advance("1s");
    await until(() => streams.every(({ ended }) => ended));
    expect(lasting.ended).toBe(false);
  });

  it("beats while nothing happens, ends with its key, and ends with the daemon", async () => {
    const { api } = await serve();
    const [keyed, expiring] = [
      await api.addKey(["read"]),
      await api.addKey(["read"], "*", { expiresAt: api.clock.now() + 20_000 }),
    ];
    const [revoked, expired, open] = [
      await Follower.open(api, { key: keyed }),
      await Follower.open(api, { key: expiring }),
      await Follower.open(api),
    ];
    let beats = 0;
    open.response.on("data", (chunk) => (beats += String(chunk).split(": still here").length - 1));
    api.clock.advance("15s");
    await until(() => beats === 1);
    await api.request("DELETE", `/v1/keys/${parseToken(keyed)!.keyId}`);
    await until(() => revoked.ended);
    expect(expired.ended).toBe(false);
    api.clock.advance("5s");
    await until(() => expired.ended);
    expect(open.ended).toBe(false);
    api.feed.end();
    await until(() => open.ended);
    api.phase = "draining";
    expect(await api.get("/v1/webhooks/stream")).toMatchObject({ status: 503, body: { code: "shutting_down" } });
  });
});

describe("a failure in a stream", () => {
  it("ends that stream alone, and is in the log under its request", async () => {
    const { api } = await serve();
    const broken = await Follower.open(api);
    vi.spyOn(api.clock, "now").mockReturnValueOnce(Number.NaN);
    api.feed.changed("ep_x");
    api.clock.advance("1s");
    await until(() => broken.ended);
    const lines = api.logged.filter(({ level }) => level === "error");
    expect(lines).toHaveLength(1);
    expect(lines[0]!.fields).toMatchObject({ request_id: broken.response.headers["x-request-id"] });
    const follower = await Follower.open(api);
    api.feed.changed("ep_x");
    api.clock.advance("1s");
    await until(() => follower.of("endpoint").length > 0);
  });
});
