/** Mistakes in how values go together. */
import { join } from "node:path";
import { isLoopback } from "../domain/network/url.ts";
import type { Mistake } from "./error.ts";
import type { ConfigInputs } from "./inputs.ts";
import { fitsSocket } from "./places.ts";
import type { Sections } from "./schema.ts";
import type { LoadedSettings } from "./settings.ts";

const TLS_PAIR = ["server.tls_cert", "server.tls_key"] as const;

/** What of a configuration may not go together. */
interface Combined {
  readonly server: Omit<Sections["server"], "tlsCert" | "tlsKey"> & { readonly tls: object | null };
  readonly limits: Sections["limits"];
  readonly dev: boolean;
}

export function* conflicts(
  config: Combined,
  { settings, origins }: LoadedSettings,
  inputs: ConfigInputs,
): Generator<Mistake> {
  const { listen, tls, behindProxy, maxEventBytes } = config.server;
  const where = origins.get("server.listen")?.() ?? "[server] listen";
  if (!isLoopback(listen.host)) {
    if (config.dev) {
      yield {
        where,
        what: `--dev cannot be combined with the address ${listen.host}.`,
        why: "With --dev endpoints may be services on this machine, so anyone who reaches the API could make webhookd call them.",
        todo: "Drop --dev, or listen on 127.0.0.1.",
      };
    } else if (tls === null && !behindProxy) {
      yield {
        where,
        what: `${listen.host} can be reached from other machines, so keys and secrets would cross the network in the clear.`,
        todo: "Set [server] tls_cert and tls_key, or put a TLS proxy in front and set behind_proxy = true, or listen on 127.0.0.1.",
      };
    }
  }
  const half = TLS_PAIR.find((name) => settings[name] !== "");
  if (half !== undefined && TLS_PAIR.some((name) => settings[name] === "")) {
    yield {
      where: origins.get(half)!(),
      what: "[server] tls_cert and tls_key belong together, but only one is set.",
      todo: "Set the other one as well.",
    };
  }
  const socket = settings["server.socket"];
  if (socket !== "" && !fitsSocket(socket, inputs.platform)) {
    yield {
      where: origins.get("server.socket")!(),
      what: `${socket} is too long for a socket path.`,
      todo: `Choose a shorter path, such as ${join("/run/webhookd", "webhookd.sock")}.`,
    };
  }
  if (config.limits.inFlightBytes < maxEventBytes) {
    yield {
      where: (origins.get("limits.in_flight_bytes") ?? origins.get("server.max_event_bytes")!)(),
      what: "[limits] in_flight_bytes is smaller than [server] max_event_bytes, so the largest events could never be accepted.",
      todo: "Raise the first or lower the second.",
    };
  }
}
