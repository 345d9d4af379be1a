/** webhookd itself, with the same interface and code as the others. */
import { DaemonUnderTest } from "../daemon.ts";
import { publishText, tenantName } from "../payload.ts";
import type { Peer, PeerEndpoint } from "./peer.ts";

export const webhookd: Peer = {
  about: "one process, SQLite with fsync before each answer; 31 hours of retries; publishers authenticated by a key",
  missing: () => null,
  async start(dir, urls) {
    const daemon = await DaemonUnderTest.start({ dir, threads: null });
    const endpoints: PeerEndpoint[] = [];
    for (const [index, url] of urls.entries()) {
      const tenant = tenantName(index);
      const body = publishText(true).replace(tenantName(0), tenant);
      const headers = { authorization: `Bearer ${daemon.key}` };
      const publish = { path: "/v1/webhooks/events", headers, body };
      endpoints.push({ publish, signature: await daemon.register(url, tenant) });
    }
    const { pid, port, startMs } = daemon;
    return { version: "this checkout", port, pids: [pid], startMs, endpoints, stop: () => daemon.kill() };
  },
};
