#!/usr/bin/env -S node --max-semi-space-size=16 --no-wasm-code-gc
// Any Node can read this file, so that an old one says what is wrong instead of failing at the daemon's syntax.
const major = Number(process.versions.node.split(".")[0]);
// oxlint-disable-next-line typescript/no-floating-promises -- what the daemon does not catch ends the process.
if (major >= 24) import("../daemon/webhookd.cjs");
else {
  console.error(`webhookd: this is Node ${process.version}, and webhookd needs Node 24 or newer`);
  console.error("  (the publishers' client, webhookd/client, runs on Node 20)");
  process.exitCode = 1;
}
