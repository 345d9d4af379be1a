/**
 * Runs a separate daemon and two receivers, one of which fails at first. Everything is in a folder that is removed at
 * the end.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { loadConfig } from "../../src/config.ts";
import type { ConfigInputs } from "../../src/config/inputs.ts";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import type { Io } from "../io.ts";
import { connect } from "../target.ts";
import { Reader } from "./listen/reader.ts";
import { register } from "./listen/registration.ts";
import type { Reception } from "./listen/request-line.ts";
import { readScript } from "./listen/script.ts";
import { openServer } from "./listen/server.ts";

/** Replaces the real ladder, whose first rung alone would take most of the demo. */
export const DELAYS = "1s,2s,4s";
/** The second receiver fails this many requests: the first events run out of attempts, and the later ones arrive. */
export const FAILURES = 24;

export type Name = "good" | "flaky";
export type OnReception = (name: Name, reception: Reception) => void;

export interface DemoSite {
  readonly dir: string;
  readonly client: Client;
  /** The flags that make other commands find this daemon. */
  readonly target: string;
  readonly receivers: readonly { readonly name: Name; readonly url: string }[];
  /** Resolves when the daemon cannot continue. */
  readonly failed: Promise<Error>;
  close(): Promise<void>;
  /** Removes the folder even if it is still in use, for an exit that does not wait. */
  remove(): void;
}

export async function openSite(io: Io, onReception: OnReception): Promise<DemoSite> {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-demo-"));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  const closing: (() => Promise<void> | void)[] = [remove];
  const close = async () => {
    for (const step of closing.splice(0).toReversed()) await step();
  };
  try {
    const { startDaemon } = await import("../../src/daemon.ts");
    const { createLog } = await import("../../src/log.ts");
    const log = createLog({ format: "pretty", level: "error", write: (line) => io.stderr.write(line) });
    const daemon = await startDaemon(loadConfig(inputsFor(dir, io)), { log });
    closing.push(() => daemon.stop());
    const socket = daemon.socket?.replace(/^unix:/, "");
    const flags = socket === undefined ? { url: daemon.url, "key-file": daemon.adminKeyFile! } : { socket };
    const client = connect(
      { url: undefined, socket: undefined, "key-file": undefined, config: undefined, ...flags },
      io,
    );
    const receivers = [];
    for (const [name, failFirst] of [
      ["good", 0],
      ["flaky", FAILURES],
    ] as const) {
      receivers.push(await openReceiver({ name, failFirst }, client, { io, onReception, closing }));
    }
    const target = Object.entries(flags)
      .map(([flag, value]) => `--${flag} ${value}`)
      .join(" ");
    return { dir, client, target, receivers, failed: daemon.failed, close, remove };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Around {
  readonly io: Io;
  readonly onReception: OnReception;
  readonly closing: (() => Promise<void> | void)[];
}

async function openReceiver(
  { name, failFirst }: { name: Name; failFirst: number },
  client: Client,
  { io, onReception, closing }: Around,
): Promise<{ name: Name; url: string }> {
  const script = readScript({ status: undefined, "fail-first": String(failFirst), delay: "0s", drop: false });
  const reader = new Reader({ path: "/", script, target: null, kept: null, client }, io);
  reader.onRequest = (reception) => onReception(name, reception);
  const server = await openServer(0, (received) => reader.answer(received));
  closing.push(() => server.close());
  const { id, secrets } = await register(
    client,
    server.url,
    BUILT_IN_TYPES.map(({ name: type }) => type),
  );
  reader.begin(secrets, id);
  return { name, url: server.url };
}

/** No file or environment variable of the user may change the demo. */
function inputsFor(dir: string, io: Io): ConfigInputs {
  const settings = [
    { name: "data.dir", text: dir },
    { name: "server.listen", text: "127.0.0.1:0" },
    { name: "retry.delays", text: DELAYS },
    // One event a second does not need a thread, and arrives sooner without one.
    { name: "delivery.threads", text: "0" },
  ] as const;
  const flags = { dev: true, settings: settings.map((setting) => ({ ...setting, flag: "demo" })) };
  return { ...io.configInputs(flags), env: {}, readFile: () => null };
}
