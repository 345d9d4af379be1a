/** hookaido: one process in Go, with SQLite. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA, SECRET } from "../payload.ts";
import type { Peer } from "./peer.ts";
import { firstMissing, freePort, listens, programAt, startProgram, versionOf } from "./program.ts";

/** The documentation's example for much traffic. The default is 20. */
const CONCURRENCY = 50;
const AUTHORIZATION = `Basic ${Buffer.from("bench:bench").toString("base64")}`;

export const hookaido: Peer = {
  about: `one process, SQLite with synchronous=FULL, ${CONCURRENCY} deliveries at a time for each route`,
  missing: () =>
    firstMissing({ hookaido: { at: programAt("hookaido"), from: "take its release (nuetzliches/hookaido)" } }),
  async start(dir, urls) {
    const file = programAt("hookaido")!;
    const [port, admin] = [await freePort(), await freePort()];
    const routes = urls.map((url, index) =>
      [
        `/endpoint/${index} {`,
        `  auth basic "bench" "bench"`,
        `  deliver_concurrency ${CONCURRENCY}`,
        `  deliver "${url}" {`,
        `    retry exponential max 8 base 2s cap 2m jitter 0.2`,
        `    timeout 10s`,
        `    sign hmac "raw:${SECRET}"`,
        `  }`,
        `}`,
      ].join("\n"),
    );
    const config = join(dir, "Hookaidofile");
    writeFileSync(
      config,
      [
        `ingress { listen 127.0.0.1:${port} }`,
        `admin_api { listen 127.0.0.1:${admin} }`,
        `defaults {\n  egress {\n    https_only off\n    dns_rebind_protection off\n  }\n}`,
        ...routes,
        "",
      ].join("\n"),
    );
    const args = ["run", "--config", config, "--db", join(dir, "hookaido.db")];
    const { pid, startMs, stop } = await startProgram({ file, args, dir, ready: () => listens(port) });
    const endpoints = urls.map((_, index) => ({
      publish: { path: `/endpoint/${index}`, headers: { authorization: AUTHORIZATION }, body: DATA },
      signature: { header: "X-Hookaido-Signature" },
    }));
    return { version: versionOf(file, "version"), port, pids: [pid], startMs, endpoints, stop };
  },
};
