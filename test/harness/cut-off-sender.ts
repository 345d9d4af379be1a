/** Runs a sender thread on a network that a test can cut: from then on connections neither open nor fail. */
import net, { Socket } from "node:net";
import { syncBuiltinESMExports } from "node:module";
import { parentPort, workerData } from "node:worker_threads";

let cut = false;
/** The number of connections that were tried without success, in all threads of the test. */
const dialled = new Int32Array((workerData as { dialled: SharedArrayBuffer }).dialled);
const connect = net.connect.bind(net) as (options: net.NetConnectOpts) => Socket;
net.connect = ((options: net.NetConnectOpts) => {
  if (!cut) return connect(options);
  Atomics.add(dialled, 0, 1);
  return new Socket();
}) as typeof net.connect;
syncBuiltinESMExports();

parentPort!.on("message", (message: { kind: string; cut: boolean }) => {
  if (message.kind === "network") cut = message.cut;
});
await import("../../src/delivery/threads/sender-thread.ts");
