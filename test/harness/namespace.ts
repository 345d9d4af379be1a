/** Network namespaces for processes under test, on hosts that allow them. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const IS_ROOT = process.getuid?.() === 0;
const NEW = IS_ROOT ? ["-n", "-m"] : ["-r", "-n", "-m"];

/** The reason why this host does not allow namespaces. Null if it does. */
export const noNamespace: string | null = (() => {
  const { status, error, stderr } = spawnSync("unshare", [...NEW, "ip", "link", "set", "lo", "up"], {
    encoding: "utf8",
  });
  if (status === 0) return null;
  return error?.message ?? stderr.trim();
})();

/** As a prefix to a command, runs it without any network: even its loopback interface is down. */
export const WITHOUT_NETWORK = ["unshare", ...NEW] as const;

/** The resolver of a process that runs `withSilentResolver`. It never responds. */
export const SILENT_RESOLVER = "192.0.2.53";

/**
 * As a prefix to a command, runs it in a network that routes every packet and has a resolver, but where nothing
 * responds.
 */
export function withSilentResolver(home: string): readonly [string, ...string[]] {
  const file = join(home, "resolv.conf");
  writeFileSync(file, `nameserver ${SILENT_RESOLVER}\n`);
  const script = `ip link set lo up && ip route add default dev lo && mount --bind ${file} /etc/resolv.conf && exec "$@"`;
  return ["unshare", ...NEW, "sh", "-c", script, "sh"];
}

/** As a prefix to a command, runs it in the network of another process. */
export function inNetworkOf(pid: number): readonly [string, ...string[]] {
  return ["nsenter", "-t", String(pid), ...(IS_ROOT ? [] : ["-U", "--preserve-credentials"]), "-n"];
}
