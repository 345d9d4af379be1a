/** The publishers' clients behind one interface, so that a test can ask the same of each of them. */
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import {
  ClientError,
  connect,
  PublishError,
  verify,
  verifyStandard,
  type BatchItem,
  type EventDraft,
} from "../../src/client/publisher.ts";

export const PYTHON_CLIENT = resolve(import.meta.dirname, "../../src/client/python");
const DRIVER = resolve(import.meta.dirname, "driver.py");

export interface Asked {
  readonly url?: string;
  readonly socket?: string;
  readonly giveUpAfterMs?: number;
  readonly publish?: EventDraft;
  readonly idempotencyKey?: string;
  readonly batch?: readonly BatchItem[];
  readonly call?: readonly [operation: string, ask: Ask];
  /** The answer is the value and the ETag. */
  readonly withEtag?: readonly [operation: string, ask: Ask];
  readonly every?: readonly [operation: string, ask: Ask];
  /** The body is base64. */
  readonly verify?: readonly [body: string, header: string | null, secrets: readonly string[]];
  /** The body is base64, the time in seconds. */
  readonly standard?: readonly [
    body: string,
    headers: Readonly<Record<string, string>>,
    keys: readonly string[],
    now: number,
  ];
}

/** The arguments of an operation that each client is called with. */
interface Ask {
  readonly id?: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: "*";
}

/** The result of a publish or its error, or the `reason` why `verify` refused the body. Null if it did not. */
export interface Told {
  readonly answer?: unknown;
  readonly error?: {
    readonly code: string;
    readonly retryable: boolean;
    readonly hint: string | null;
    readonly events: readonly BatchItem[];
    readonly faults: readonly string[];
  };
  readonly reason?: string | null;
}

export interface Language {
  readonly name: string;
  ask(asked: Asked): Promise<Told>;
  end(): void;
}

export const KEY = "whk_test";

export function typescript(): Language {
  return { name: "TypeScript", ask: askHere, end() {} };
}

async function askHere({ url, socket, giveUpAfterMs = 10_000, ...asked }: Asked): Promise<Told> {
  if (asked.verify !== undefined) {
    const [body, header, secrets] = asked.verify;
    const verdict = verify(Buffer.from(body, "base64"), header, secrets);
    return { reason: verdict.ok ? null : verdict.reason };
  }
  if (asked.standard !== undefined) {
    const [body, headers, keys, now] = asked.standard;
    const verdict = verifyStandard(Buffer.from(body, "base64"), headers, keys, now * 1000);
    return { reason: verdict.ok ? null : verdict.reason };
  }
  const client = connect({ ...(socket === undefined ? { url: url!, key: KEY } : { socket }), giveUpAfterMs });
  const { idempotencyKey } = asked;
  try {
    if (asked.call !== undefined) return { answer: await client.call(asked.call[0] as "getStatus", asked.call[1]) };
    if (asked.withEtag !== undefined) {
      const { value, etag } = await client.callWithEtag(asked.withEtag[0] as "getEndpoint", asked.withEtag[1]);
      return { answer: [value, etag] };
    }
    if (asked.every !== undefined) {
      return { answer: await Array.fromAsync(client.every(asked.every[0] as "listEvents", asked.every[1])) };
    }
    if (asked.batch !== undefined) return { answer: await client.publishBatch(asked.batch) };
    return {
      answer: await client.publish(asked.publish!, { ...(idempotencyKey !== undefined && { idempotencyKey }) }),
    };
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    const { code, retryable, hint = null } = error;
    const events = error instanceof PublishError ? error.events : [];
    return { error: { code, retryable, hint, events, faults: error.faults.map((fault) => fault.code) } };
  }
}

/** Returns null, with a message, if there is no Python 3.9 or newer. */
export function python(how: "sync" | "async" = "sync"): Language | null {
  if (!hasPython()) return null;
  const child = spawn("python3", ["-B", DRIVER, PYTHON_CLIENT, KEY, how], { stdio: ["pipe", "pipe", "inherit"] });
  return driven(how === "sync" ? "Python" : "Python with asyncio", child);
}

/** A program that answers each line of its input with a line. */
function driven(name: string, child: ChildProcessByStdio<Writable, Readable, null>): Language {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    name,
    async ask(asked) {
      child.stdin.write(`${JSON.stringify(asked)}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the ${name} client ended`);
      return JSON.parse(value) as Told;
    },
    end: () => child.stdin.end(),
  };
}

export const GO_CLIENT = resolve(import.meta.dirname, "../../src/client/go");
const GO_DRIVER = resolve(import.meta.dirname, "go-driver");

export function go(folder: string): Language | null {
  const binary = buildGo(folder);
  return binary === null ? null : driven("Go", spawn(binary, [KEY], { stdio: ["pipe", "pipe", "inherit"] }));
}

/** Builds the driver into the folder. Returns null, with a message, if there is no Go 1.23 or newer. */
export function buildGo(folder: string): string | null {
  const binary = resolve(folder, "driver");
  const env = { ...process.env, GOTOOLCHAIN: "local" };
  const { status, error, stderr } = spawnSync("go", ["build", "-o", binary, "."], { cwd: GO_DRIVER, env });
  if (error !== undefined || (status !== 0 && /requires go >=/.test(String(stderr)))) {
    process.stderr.write("SKIPPED: the Go client is not run: there is no go of 1.23 or newer\n");
    return null;
  }
  if (status !== 0) throw new Error(String(stderr));
  return binary;
}

export function hasPython(): boolean {
  const isHere = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0;
  if (!isHere) process.stderr.write("SKIPPED: the Python client is not run: there is no python3 of 3.9 or newer\n");
  return isHere;
}
