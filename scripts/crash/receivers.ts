/**
 * The receivers, as a separate process. Every complete request, and its response, is in the journal before the response
 * is sent. receivers-process.ts starts it as: receivers.ts <journal> <seed> <plant>
 */
import { createHash } from "node:crypto";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import { Random } from "../../test/sim/random.ts";
import type { Answer, SeenRequest } from "./entries.ts";
import { Journal, monotonic } from "./journal.ts";
import { ENDPOINTS, planOf, SIGNATURE_BY } from "./site.ts";
import { killStrays } from "./strays.ts";
import { verifies } from "./verifies.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** Kills the daemon at the n-th complete request from now on: at once, or `ms` after the response. */
export interface Aim {
  readonly nth: number;
  readonly when: "arrived" | "answered";
  readonly ms: number;
}

/** Requests of the driver. Each is confirmed with its number when it is done. */
export type Asked =
  | { readonly ask: "secrets"; readonly secrets: Readonly<Record<string, string>> }
  | { readonly ask: "generation"; readonly generation: number }
  | { readonly ask: "daemon"; readonly pid: number | null }
  | { readonly ask: "aim"; readonly aim: Aim | null }
  | { readonly ask: "end" };

interface Connection {
  readonly generation: number;
  requests: number;
}

const [journalFile, seed, plant] = process.argv.slice(2) as [string, string, string];
const journal = await Journal.open(journalFile);
const random = new Random(Number(seed));
const plans = new Map(ENDPOINTS.map((plan) => [plan.name, plan]));
const connections = new WeakMap<Socket, Connection>();
const server = createServer((request, response) => unawaited(serve(request, response)));
let secrets: Readonly<Record<string, string>> = {};
let generation = 0;
let daemon: number | null = null;
let aim: { left: number; readonly when: Aim["when"]; readonly ms: number } | null = null;
let count = 0;
let isOver = false;

server.on("connection", (socket: Socket) => {
  connections.set(socket, { generation, requests: 0 });
  socket.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => process.send!({ port: port() }));
process.on("message", ({ number, ...asked }: Asked & { number: number }) => {
  unawaited(obey(asked).then(() => process.send?.({ done: number })));
});
// The driver is gone and can no longer end the daemon, so do it here, unless the driver said that this is the end.
process.on("disconnect", () => {
  if (isOver) process.exit();
  killDaemon(daemon);
  unawaited(killStrays(dirname(journalFile)).then(() => process.exit()));
});

async function obey(asked: Asked): Promise<void> {
  if (asked.ask === "secrets") secrets = asked.secrets;
  else if (asked.ask === "daemon") daemon = asked.pid;
  else if (asked.ask === "aim") aim = asked.aim === null ? null : { ...asked.aim, left: asked.aim.nth };
  else if (asked.ask === "generation") {
    await acceptedAll();
    generation = asked.generation;
  } else {
    isOver = true;
    server.close();
    server.closeAllConnections();
    await journal.close();
  }
}

/** Connections are accepted in order. Once this one is served, none of the dead daemon's are left. */
function acceptedAll(): Promise<void> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port: port(), agent: false }, (response) => {
      response.resume().once("end", resolve);
    }).once("error", reject);
  });
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = (request.url ?? "").slice(1);
  const plan = plans.get(planOf(name));
  if (plan === undefined) {
    response.end();
    return;
  }
  const body = await buffer(request).catch(() => null);
  // The daemon died while it was sending, so this was not a request.
  if (body === null) return;
  const isAimedAt = aim !== null && --aim.left === 0 ? aim : null;
  const seen = look(request, body, secrets[name]!);
  const { afterMs, answer } = plan.react(random);
  const target = daemon;
  if (isAimedAt?.when === "arrived") killDaemon(target);
  if (answer === null || isAimedAt?.when === "arrived") {
    await journal.append({ kind: "request", ...seen });
    return;
  }
  if (afterMs > 0) {
    await journal.append({ kind: "request", ...seen });
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    if (request.socket.destroyed) return;
    await journal.append(answered(seen.nth, answer));
  } else {
    await journal.append({ kind: "request", ...seen }, answered(seen.nth, answer));
  }
  // On a busy machine the daemon may have read the response long before this process continues.
  const from = monotonic();
  send(response, answer);
  unawaited(journal.append({ kind: "sent", nth: seen.nth, from, at: monotonic() }));
  if (isAimedAt !== null) setTimeout(() => killDaemon(target), isAimedAt.ms);
}

function look(request: IncomingMessage, body: Buffer, secret: string): SeenRequest {
  const header = (name: string) => String(request.headers[name] ?? "");
  const connection = connections.get(request.socket)!;
  connection.requests++;
  // Each of several processes signs under its own header.
  const signature = Object.keys(request.headers).find((name) => name.startsWith(SIGNATURE_BY));
  return {
    nth: ++count,
    generation: signature === undefined ? connection.generation : Number(signature.slice(SIGNATURE_BY.length)),
    at: monotonic(),
    event: header("webhook-id"),
    delivery: header("x-webhookd-delivery"),
    attempt: Number(header("x-webhookd-attempt")),
    body: createHash("sha256").update(body).digest("hex"),
    verified: verifies(header, body, secret, signature),
    reused: connection.requests > 1,
  };
}

function answered(nth: number, answer: Answer): object {
  // A deliberate error, to show that the check notices: the journal contradicts the receiver.
  const noted = plant === "false-answers" && answer === 200 ? 500 : answer;
  return { kind: "answer", nth, answer: noted };
}

function send(response: ServerResponse, answer: Answer): void {
  if (answer === "reset") response.socket?.resetAndDestroy();
  else response.writeHead(answer).end();
}

/** Does nothing if that process is already gone. */
function killDaemon(target: number | null): void {
  if (target === null || target !== daemon) return;
  unawaited(journal.append({ kind: "kill", generation, at: monotonic() }));
  try {
    process.kill(target, "SIGKILL");
  } catch {
    // The process is gone, but the driver has not said so yet.
  }
}

function port(): number {
  return (server.address() as AddressInfo).port;
}
