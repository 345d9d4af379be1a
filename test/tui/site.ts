/** A daemon in this process, with a receiver and events, for a dashboard in another process. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";

export interface SiteOptions {
  /** Publishes an event for each text. The receiver answers it with 500 and the text. */
  readonly failing?: readonly string[];
  readonly delivered?: number;
}

export interface Site {
  readonly daemon: TestDaemon;
  readonly socket: string;
  /** Matches the dashboard's screen once it shows the newest event. */
  readonly shows: RegExp;
}

export async function openSite({ failing = [], delivered = 0 }: SiteOptions): Promise<Site> {
  const receiver = await openEcho();
  const daemon = await TestDaemon.start({ clock: systemClock, settings: { RETRY_DELAYS: "1ms" } });
  await daemon.register(receiver.url);
  for (const text of failing) await daemon.publish({ text });
  if (delivered > 0) {
    const events = Array.from({ length: delivered }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
    const { status } = await daemon.request("POST", "/v1/webhooks/events/batch", { events });
    expect(status).toBe(202);
  }
  await expect.poll(() => receiver.answered()).toBe(2 * failing.length + delivered);
  // All responses are recorded, so no key changes its effect later.
  const pending = async () => (await daemon.request("GET", "/v1/webhooks/deliveries?status=pending&limit=1")).body.data;
  await expect.poll(pending).toEqual([]);
  return { daemon, socket: join(daemon.dir, "webhookd.sock"), shows: /1 of \d/ };
}

/** Answers 500 with the text in an event's data, or 200 if it has none. */
async function openEcho() {
  let answered = 0;
  const server = createServer(async (request, response) => {
    const { data } = JSON.parse(await textOf(request)) as { data: { text?: string } };
    response.writeHead(data.text === undefined ? 200 : 500).end(data.text);
    answered++;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, answered: () => answered };
}

/** Removes what changes by itself, whatever its width: ages and rates, which stand at the right of their columns. */
export function still(screen: string): string {
  return screen
    .replaceAll(/ *(?:\b\d+[smh](?:\d\d[sm])?\b|\b\d[\d.]*\/s) */g, " _ ")
    .replaceAll(/\d\d:\d\d:\d\d/g, "__:__:__");
}
