/** Which host names an endpoint may have. Names are judged by spelling alone: registration asks no DNS. */
import type { FieldCode } from "../errors.ts";

export interface HostFault {
  readonly code: FieldCode;
  readonly detail: string;
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_NAME = 253;

/** Public names of cloud metadata services; those under a special-use suffix need no entry. */
const METADATA = [
  "metadata.goog",
  "metadata.tencentyun.com",
  "api.metadata.cloud.ibm.com",
  "metadata.platformequinix.com",
  "metadata.packet.net",
];

/** RFC 6761 and its registry, and the suffixes that private networks use. */
const SPECIAL_USE = [
  "localhost",
  "local",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "localdomain",
  "home.arpa",
  "in-addr.arpa",
  "ip6.arpa",
  "test",
  "invalid",
  "example",
  "onion",
  "alt",
];

/** `name` is what the URL parser made of the host: ASCII, lower case, no address literal. */
export function checkHostName(name: string): HostFault | null {
  if (name.endsWith(".")) return fault("host_trailing_dot", "the host name ends with a dot");
  if (name.length > MAX_NAME || !name.split(".").every((label) => LABEL.test(label))) {
    return fault("host_invalid", "the host is not a DNS name of letters, digits and hyphens");
  }
  if (isUnder(name, METADATA)) return fault("host_metadata", "the host names a cloud metadata service");
  if (isUnder(name, SPECIAL_USE))
    return fault("host_special_use", "the host lies under a special-use or private suffix");
  if (!name.includes(".")) return fault("host_single_label", "the host name is a single label");
  return null;
}

function isUnder(name: string, suffixes: readonly string[]): boolean {
  return suffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}

function fault(code: FieldCode, detail: string): HostFault {
  return { code, detail };
}
