import { networkInterfaces } from "node:os";

/** The addresses of this host, which no endpoint may have. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
