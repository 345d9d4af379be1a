/** Network namespaces for processes under test, where this host lets us make them. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const IS_ROOT = process.getuid?.() === 0;
const NEW = IS_ROOT ? ["-n", "-m"] : ["-r", "-n", "-m"];

/** Why no namespace can be made here; null where one can. */
export const noNamespace: string | null = (() => {
  const { status, error, stderr } = spawnSync("unshare", [...NEW, "ip", "link", "set", "lo", "up"], {
    encoding: "utf8",
  });
  if (status === 0) return null;
  return error?.message ?? stderr.trim();
})();

/** What goes before a command: it runs without any network, its loopback interface down. */
export const WITHOUT_NETWORK = ["unshare", ...NEW] as const;

/** Whom a process asks that runs `withSilentResolver`. */
export const SILENT_RESOLVER = "192.0.2.53";

/** The same, with a route for every packet, a resolver's address and nobody behind either. */
export function withSilentResolver(home: string): readonly [string, ...string[]] {
  const file = join(home, "resolv.conf");
  writeFileSync(file, `nameserver ${SILENT_RESOLVER}\n`);
  const script = `ip link set lo up && ip route add default dev lo && mount --bind ${file} /etc/resolv.conf && exec "$@"`;
  return ["unshare", ...NEW, "sh", "-c", script, "sh"];
}

/** What goes before a command that joins the network of a process. */
export function inNetworkOf(pid: number): readonly [string, ...string[]] {
  return ["nsenter", "-t", String(pid), ...(IS_ROOT ? [] : ["-U", "--preserve-credentials"]), "-n"];
}
