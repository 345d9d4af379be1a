import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { Agent } from "undici";
import { describe, expect, it } from "vitest";
import { PEERS, peers } from "../../scripts/bench/peers.ts";
import type { Peer } from "../../scripts/bench/peers/peer.ts";
import { DATA } from "../../scripts/bench/payload.ts";
import { sideBySide } from "../../scripts/bench/table.ts";

const refused = (...args: string[]) => promisify(execFile)(process.execPath, ["scripts/bench/main.ts", ...args]);

/** Answers and posts, but stores nothing. Each endpoint has its own connections, so that none waits for another. */
const inThisProcess: Peer = {
  about: "a few lines of this test",
  missing: () => null,
  async start(_dir, urls) {
    const agents = urls.map(() => new Agent({ connections: 20 }));
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const index = Number(request.url!.slice(1));
        const { origin, pathname: path } = new URL(urls[index]!);
        const headers = { "x-signed": "yes" };
        const posted = agents[index]!.request({ origin, path, method: "POST", headers, body: Buffer.concat(chunks) });
        posted.then(({ body }) => body.dump()).catch(() => {});
        response.writeHead(202, { "content-length": 0 }).end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return {
      version: "1.0",
      port: (server.address() as AddressInfo).port,
      pids: [process.pid],
      startMs: 1,
      endpoints: urls.map((_, index) => ({
        publish: { path: `/${index}`, headers: {}, body: DATA },
        signature: { header: "X-Signed" },
      })),
      async stop() {
        server.closeAllConnections();
        server.close();
        await Promise.all(agents.map((agent) => agent.destroy()));
      },
    };
  },
};
const notHere: Peer = { ...inThisProcess, missing: () => "it was never written" };
const broken: Peer = { ...inThisProcess, start: () => Promise.reject(new Error("no room")) };

describe("the bench beside others", () => {
  it("measures each that is installed in turns with webhookd, and says what is not or does not start", async () => {
    const notes: string[] = [];
    const options = {
      seconds: 0.2,
      rounds: 1,
      threads: null,
      profile: false,
      note: (text: string) => notes.push(text),
    };
    const measures = await peers(options, { fake: inThisProcess, absent: notHere, broken }, inThisProcess);
    const of = (name: string, measure: string) =>
      measures.find((one) => one.scenario === `peers: ${name} 1.0` && one.name === measure)?.values[0];
    for (const name of ["webhookd", "fake"]) {
      expect(of(name, "lost, unsigned or broken"), name).toBe(0);
      expect(of(name, "delivered"), name).toBeGreaterThan(0);
      expect(of(name, "CPU per event"), name).toBeGreaterThan(0);
      expect(of(name, "memory, peak"), name).toBeGreaterThan(10);
      expect(of(name, "at 200/s: publish to arrival, p50"), name).toBeGreaterThan(0);
      expect(of(name, "beside an endpoint that hangs: arrived"), name).toBeGreaterThan(0);
    }
    expect(of("webhookd", "CPU per event, ÷ webhookd")).toBe(1);
    expect(notes).toContain("SKIPPED absent: it was never written");
    expect(notes).toContain("FAILED broken, which is left out from here on: no room");
    const [head, , first] = sideBySide(measures, "peers: ").split("\n");
    expect(head).toMatch(/^\| +\| webhookd 1\.0 +\| fake 1\.0 +\|$/);
    expect(first).toMatch(/^\| CPU per event, µs +\|/);
  });

  it("refuses a peer that there is not, and says which there are", async () => {
    await expect(refused("peers", "--with", "hookaido,hookdeck")).rejects.toMatchObject({
      code: 64,
      stderr: expect.stringMatching(new RegExp(`no peer "hookdeck"[^]*${Object.keys(PEERS).join(", ")}`)),
    });
  });
});
