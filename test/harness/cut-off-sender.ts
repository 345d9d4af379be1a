/** The sender's thread on a network that a test cuts: connections then neither open nor fail. */
import net, { Socket } from "node:net";
import { syncBuiltinESMExports } from "node:module";
import { parentPort } from "node:worker_threads";

let cut = false;
const connect = net.connect.bind(net) as (options: net.NetConnectOpts) => Socket;
net.connect = ((options: net.NetConnectOpts) => (cut ? new Socket() : connect(options))) as typeof net.connect;
syncBuiltinESMExports();

parentPort!.on("message", (message: { kind: string; cut: boolean }) => {
  if (message.kind === "network") cut = message.cut;
});
await import("../../src/delivery/sender-thread.ts");
