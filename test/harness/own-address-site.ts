/**
 * Runs in its own network namespace with a data directory: starts a daemon, then gives the host another address and
 * listens on it. Prints the result of a delivery to that address as JSON.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config.ts";
import { processInputs } from "../../src/config/inputs.ts";
import { startDaemon } from "../../src/daemon.ts";
import { silentLog } from "../../src/log.ts";

const ADDED = "93.184.216.34";
const dir = process.argv[2]!;
execFileSync("ip", ["link", "set", "lo", "up"]);

let connections = 0;
const listener = createServer((socket) => {
  connections += 1;
  socket.destroy();
}).listen(0, "0.0.0.0");
await once(listener, "listening");
const { port } = listener.address() as AddressInfo;

const settings = {
  WEBHOOKD_DATA_DIR: dir,
  WEBHOOKD_DATA_DISK_FLOOR: "1MiB",
  WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0",
  WEBHOOKD_EGRESS_ALLOW_HTTP: "true",
  WEBHOOKD_EGRESS_PORTS: "any",
};
const daemon = await startDaemon(loadConfig({ ...processInputs({}), cwd: dir, env: settings }), { log: silentLog });
const { body: endpoint } = await call("POST", "/v1/webhooks", {
  url: `http://${ADDED}:${port}/`,
  events: ["goal.achieved"],
});

execFileSync("ip", ["address", "add", `${ADDED}/32`, "dev", "lo"]);
// The daemon may use the addresses that it read for this long.
await sleep(1000);
const opensBefore = activeOpens();
await call("POST", "/v1/webhooks/events", { type: "goal.achieved", data: {} });
let attempts: { error: string }[] = [];
while (attempts.length === 0) attempts = (await call("GET", `/v1/webhooks/${endpoint.id}/attempts`)).body.data;
const opened = activeOpens() - opensBefore;
const registered = await call("POST", "/v1/webhooks", { url: `http://${ADDED}/`, events: ["goal.achieved"] });

process.stdout.write(
  JSON.stringify({ error: attempts[0]!.error, opened, connections, registered: registered.body.errors[0].code }),
);
await daemon.stop();
listener.close();

/** Calls the daemon over its unix socket, so that the only TCP connections here are those of its attempts. */
async function call(method: string, path: string, body?: object): Promise<{ body: any }> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const sent = request({ socketPath: daemon.socket!.slice("unix:".length), method, path, headers }).end(
    body && JSON.stringify(body),
  );
  const [response] = (await once(sent, "response")) as [AsyncIterable<Buffer>];
  let text = "";
  for await (const chunk of response) text += chunk.toString();
  return { body: JSON.parse(text) };
}

/** Returns how many connections were opened in this namespace. The kernel counts each first SYN. */
function activeOpens(): number {
  const [names, values] = readFileSync("/proc/net/snmp", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("Tcp:"))
    .map((line) => line.split(" "));
  return Number(values![names!.indexOf("ActiveOpens")]);
}
