import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { DialRace, type Dialled } from "../../../src/delivery/http/dial.ts";
import type { Fault } from "../../../src/delivery/http/fault.ts";
import { caresResolve, createResolve } from "../../../src/delivery/http/resolver.ts";
import { ManualClock } from "../../harness/clock.ts";
import { DialSpy, type Route } from "../../harness/dial.ts";
import { DnsServer, type Answer } from "../../harness/dns.ts";
import { closeAfter, receiverOf } from "../../harness/exchange.ts";

const PUBLIC = "93.184.216.34";
const PUBLIC_V6 = "2606:2800:220:1:248:1893:25c8:1946";

async function race(ips: readonly string[], routes: Record<string, Route>, advance: readonly number[]) {
  const receiver = await receiverOf();
  const clock = new ManualClock();
  const spy = new DialSpy((ip) => routes[ip] ?? receiver.port);
  const ended = new Promise<Dialled | Fault>((resolve) => new DialRace(spy.dial, clock, ips, 443, resolve).start());
  const steps = advance.map((ms) => {
    clock.advance(ms);
    return [...spy.dialled];
  });
  const result = await ended;
  if ("socket" in result) result.socket.destroy();
  return { result, dialled: spy.dialled, sockets: spy.sockets, steps };
}

describe("several addresses", () => {
  const [A, B] = [PUBLIC, "93.184.216.35"];

  it("are tried in turn, families alternating", async () => {
    const routes = { [A]: "refused", [B]: "refused", [PUBLIC_V6]: "refused", "2606::2": "refused" } as const;
    const { dialled, result } = await race([A, B, PUBLIC_V6, "2606::2"], routes, []);
    expect(dialled).toEqual([A, PUBLIC_V6, B, "2606::2"]);
    expect(result).toMatchObject({ error: "connection_refused" });
  });

  it("are tried next after 250 ms of silence", async () => {
    const { steps, result, sockets } = await race([A, B], { [A]: "blackhole" }, [249, 1]);
    expect(steps).toEqual([[A], [A, B]]);
    expect(result).toMatchObject({ ip: B });
    expect(sockets[0]!.destroyed).toBe(true);
  });

  it("are left alone once one took the call", async () => {
    const { dialled, result } = await race([A, B, PUBLIC_V6], {}, []);
    expect(dialled).toEqual([A]);
    expect(result).toMatchObject({ ip: A });
  });

  it("are not dialled without end", async () => {
    const many = Array.from({ length: 100 }, (_, i) => `93.184.217.${i}`);
    const { dialled } = await race(many, Object.fromEntries(many.map((ip) => [ip, "refused"])), []);
    expect(dialled).toEqual(many.slice(0, 8));
  });

  it("fail with what the receiver did rather than with a route that this host lacks", async () => {
    const codes = { [A]: "ENETUNREACH", [PUBLIC_V6]: "EMFILE", [B]: "ECONNREFUSED" };
    const dial = (ip: string) => new Socket().destroy(Object.assign(new Error(), { code: codes[ip] }));
    const result = await new Promise((resolve) =>
      new DialRace(dial, new ManualClock(), [A, PUBLIC_V6, B], 443, resolve).start(),
    );
    expect(result).toMatchObject({ error: "connection_refused" });
  });
});

/** A busy machine answers within this time. Tests that wait for a silent server set a shorter one. */
const PATIENCE_MS = 20_000;

async function resolverOver(zone: Record<string, Answer>, timeout = PATIENCE_MS) {
  const server = await DnsServer.start(zone);
  closeAfter(() => server.close());
  return { server, resolve: caresResolve({ servers: [server.address], timeout }) };
}

describe("the resolver", () => {
  it("asks for A and AAAA once, and gives all answers", async () => {
    const { server, resolve } = await resolverOver({ "both.example": [PUBLIC, "10.0.0.1", PUBLIC_V6] });
    expect([...(await resolve("both.example"))].toSorted()).toEqual(["10.0.0.1", PUBLIC_V6, PUBLIC].toSorted());
    expect(server.questions.toSorted()).toEqual(["both.example A", "both.example AAAA"]);
  });

  it("is content with one family", async () => {
    const { resolve } = await resolverOver({ "v6.example": [PUBLIC_V6], "v4.example": [PUBLIC] });
    expect(await resolve("v6.example")).toEqual([PUBLIC_V6]);
    expect(await resolve("v4.example")).toEqual([PUBLIC]);
  });

  it("distinguishes a name that does not exist from a server that fails or is silent", async () => {
    const { resolve } = await resolverOver({ "broken.example": "servfail" });
    await expect(resolve("gone.example")).rejects.toMatchObject({ error: "dns_failure" });
    await expect(resolve("broken.example")).rejects.toMatchObject({ error: "dns_failure" });
    const silent = await resolverOver({ "silent.example": "stall" }, 50);
    await expect(silent.resolve("silent.example")).rejects.toMatchObject({ error: "timeout" });
  });

  it("blames nobody when not one server could be asked", async () => {
    const { server, resolve } = await resolverOver({});
    await server.close();
    await expect(resolve("any.example")).rejects.toMatchObject({ error: "interrupted" });
  });

  it("takes localhost for this host in development alone, without asking", async () => {
    expect(await createResolve("c-ares", true)("localhost")).toEqual(["127.0.0.1", "::1"]);
    expect(await createResolve("system", false)("localhost")).toContain("127.0.0.1");
  });
});
