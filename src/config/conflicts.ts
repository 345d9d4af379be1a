/** Mistakes of which no single value is to blame. */
import { join } from "node:path";
import type { Config } from "../config.ts";
import { isLoopback } from "../domain/address.ts";
import type { Mistake } from "./error.ts";
import type { ConfigInputs } from "./inputs.ts";
import { fitsSocket } from "./places.ts";
import type { LoadedSettings } from "./settings.ts";

const TLS_PAIR = ["server.tls_cert", "server.tls_key"] as const;

export function* conflicts(
  config: Config,
  { settings, origins }: LoadedSettings,
  inputs: ConfigInputs,
): Generator<Mistake> {
  const { listen, tls, behindProxy, maxEventBytes } = config.server;
  const where = origins.get("server.listen")?.() ?? "[server] listen";
  if (!isLoopback(listen.host)) {
    if (config.dev) {
      yield {
        where,
        what: `--dev and the address ${listen.host} exclude each other.`,
        why: "With --dev endpoints may be services of this machine; whoever reaches the API could make webhookd call them.",
        todo: "Drop --dev, or listen on 127.0.0.1.",
      };
    } else if (tls === null && !behindProxy) {
      yield {
        where,
        what: `${listen.host} can be reached from other machines, and keys and secrets would cross the network in the clear.`,
        todo: "Set [server] tls_cert and tls_key, or put a proxy that speaks TLS in front and set behind_proxy = true, or listen on 127.0.0.1.",
      };
    }
  }
  const half = TLS_PAIR.find((name) => settings[name] !== "");
  if (half !== undefined && TLS_PAIR.some((name) => settings[name] === "")) {
    yield {
      where: origins.get(half)!(),
      what: "[server] tls_cert and tls_key belong together, and only one of them is given.",
      todo: "Name the other file as well.",
    };
  }
  const socket = settings["server.socket"];
  if (socket !== "" && !fitsSocket(socket, inputs.platform)) {
    yield {
      where: origins.get("server.socket")!(),
      what: `${socket} is longer than the path of a socket can be.`,
      todo: `Choose a shorter one, such as ${join("/run/webhookd", "webhookd.sock")}.`,
    };
  }
  if (config.limits.inFlightBytes < maxEventBytes) {
    yield {
      where: (origins.get("limits.in_flight_bytes") ?? origins.get("server.max_event_bytes")!)(),
      what: "[limits] in_flight_bytes is smaller than [server] max_event_bytes, so the largest events could never be taken.",
      todo: "Raise the one or lower the other.",
    };
  }
}
