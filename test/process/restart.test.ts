/**
 * A restart of the released bundle under load. `RESTART_PROGRAM=<path> vitest run test/process/restart.test.ts`
 * measures another program: an executable, or `scripts/webhookd` for the sources.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, request } from "undici";
import { describe, expect } from "vitest";
import { bundle } from "../../scripts/build.ts";
import { START } from "../../src/bundle.ts";
import { ownPort } from "../harness/port.ts";
import { DaemonProcess, it, MAIN, type Machine } from "../harness/process.ts";

const PER_SECOND = 500;
const HANGING = 20;
/**
 * A slow machine gets a lower rate. With more requests unanswered, some would wait longer than a closing daemon does.
 */
const MOST_UNANSWERED = 100;
/** The time that the receivers hang, and that a stop therefore takes. */
const TIMEOUT_MS = 1000;
const SETTINGS = { RETRY_TIMEOUT: `${TIMEOUT_MS}ms` };
/**
 * On an idle machine nobody listens for less than this, between the end of the old process and the start of the new
 * one. The time that the new process takes to start shows how slow this machine is.
 */
const CLOSED_MS = 300;

async function released(machine: Machine): Promise<readonly [string, ...string[]]> {
  const other = process.env["RESTART_PROGRAM"];
  if (other !== undefined) return [resolve(other)];
  const { directory } = await bundle(`${process.platform}-${process.arch}`, join(machine.home, "bundle"));
  return [process.execPath, join(directory, START)];
}

/** Hands the same socket to one process after another, as systemd does with a `.socket` unit. */
const SERVICE_MANAGER = `
for start in 1 2; do
  sh -c 'exec env LISTEN_FDS=1 LISTEN_PID=$$ "$@"' sh "$@" &
  echo "{\\"msg\\":\\"started\\",\\"pid\\":$!}"
  wait $!
done`;

describe("a restart under 500 publishes a second, with 20 receivers that hang", () => {
  it("refuses publishes only while nobody listens", async ({ machine }) => {
    const flags = ["--listen", `127.0.0.1:${await ownPort()}`];
    const program = await released(machine);
    const before = await machine.serve({ program, settings: SETTINGS, flags });
    const hang = await hanging(machine, before);
    const flood = new Flood(before);
    await flood.answered(PER_SECOND / 2);

    const began = performance.now();
    await hang();
    expect(await before.stop()).toBe(0);
    const ended = performance.now();
    await machine.serve({ program, settings: SETTINGS, flags });
    const listening = performance.now();
    await flood.answered(PER_SECOND / 2);
    const { answered, refused, other } = await flood.end();

    const times = refused.map(({ sentAt }) => sentAt);
    const closedMs = times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
    const startMs = listening - ended;
    console.info(
      `restart: ${refused.length} of ${answered + refused.length} refused, over ${closedMs.toFixed(0)} ms; ` +
        `the new process took ${startMs.toFixed(0)} ms to listen`,
    );
    expect(other).toEqual([]);
    expect(times.filter((sentAt) => sentAt > listening)).toEqual([]);
    // The attempts keep the daemon running until they time out, and it accepts publishes the whole time.
    expect(ended - began).toBeGreaterThanOrEqual(TIMEOUT_MS);
    expect(refused.filter(({ failedAt }) => failedAt < began + TIMEOUT_MS)).toEqual([]);
    expect(closedMs).toBeLessThan(3 * startMs + CLOSED_MS);
  });

  it("refuses none when the socket is the service manager's", async ({ machine }) => {
    const { socket, port, fd } = await aSocket();
    const words = [process.execPath, MAIN, "serve", "--dev", "--listen", `127.0.0.1:${port}`];
    const manager = machine.spawn("sh", ["-c", SERVICE_MANAGER, "sh", ...words], {
      settings: SETTINGS,
      stdio: ["ignore", "pipe", "pipe", fd],
    });
    // From now on only the service manager has the socket open.
    socket.close();
    const pids: number[] = [];
    try {
      pids.push(Number((await manager.json(({ msg }) => msg === "started")).pid));
      const { time } = await manager.json(({ msg }) => msg === "listening");
      const daemon = new DaemonProcess(manager, `http://127.0.0.1:${port}`, machine.dir);
      const hang = await hanging(machine, daemon);
      const flood = new Flood(daemon);
      await flood.answered(PER_SECOND / 2);

      await hang();
      process.kill(pids[0]!, "SIGTERM");
      pids.push(Number((await manager.json(({ msg, pid }) => msg === "started" && pid !== pids[0])).pid));
      await manager.json((line) => line.msg === "listening" && line.time !== time);
      await flood.answered(PER_SECOND / 2);
      const { answered, refused, other } = await flood.end();
      console.info(`restart with socket activation: ${refused.length} of ${answered} refused`);
      expect([refused, other]).toEqual([[], []]);
      process.kill(pids[1]!, "SIGTERM");
      expect(await manager.exit).toBe(0);
    } finally {
      for (const pid of manager.child.exitCode === null ? pids : []) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {}
      }
    }
  });
});

it("a socket that somebody else keeps open holds more than Node's own number of connections", async ({ machine }) => {
  const { socket, port, fd } = await aSocket();
  const daemon = serveOn(machine, fd, `127.0.0.1:${port}`);
  socket.close();
  await daemon.json(({ msg }) => msg === "listening");
  daemon.kill("SIGSTOP");
  // Node's own backlog is 511. The system may allow fewer.
  const most = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  const waiting = Array.from({ length: Math.min(600, most) }, () => connect(port, "127.0.0.1"));
  await Promise.all(waiting.map((one) => once(one, "connect")));
  for (const one of waiting) one.destroy();
});

it("a socket that is bound elsewhere than the configuration says is refused", async ({ machine }) => {
  const { socket, port, fd } = await aSocket();
  // The checks of TLS, host names and proxies rely on the configured address.
  const daemon = serveOn(machine, fd, "127.0.0.1:1");
  socket.close();
  expect(await daemon.exit).toBe(1);
  expect(daemon.stderr).toContain(`listens on 127.0.0.1:${port}, but [server] listen says 127.0.0.1:1`);
});

/** Starts a daemon that is given the socket, as systemd does. */
function serveOn(machine: Machine, fd: number, listen: string) {
  const words = [process.execPath, MAIN, "serve", "--dev", "--listen", listen];
  const given = 'exec env LISTEN_FDS=1 LISTEN_PID=$$ "$@"';
  return machine.spawn("sh", ["-c", given, "sh", ...words], { stdio: ["ignore", "pipe", "pipe", fd] });
}

/** Returns a socket that listens in this process and can be handed to another. */
async function aSocket() {
  const socket = createServer().listen({ port: 0, host: "127.0.0.1", backlog: 4096 });
  await once(socket, "listening");
  const { port } = socket.address() as AddressInfo;
  return { socket, port, fd: (socket as unknown as { _handle: { fd: number } })._handle.fd };
}

/** Starts attempts that last until they time out. The flood's own events go to a receiver that responds. */
async function hanging(machine: Machine, daemon: DaemonProcess): Promise<() => Promise<void>> {
  await daemon.register((await machine.receiver()).url, { events: ["goal.achieved"] });
  const receiver = await machine.receiver(...Array<"hang">(HANGING).fill("hang"));
  for (let count = 0; count < HANGING; count++) await daemon.register(receiver.url);
  return async () => {
    await daemon.publish();
    for (let count = 0; count < HANGING; count++) await receiver.next();
  };
}

interface Refused {
  /** Both are times of `performance.now()`. */
  readonly sentAt: number;
  readonly failedAt: number;
}

/** Publishes at a steady rate, each event once and over its own connection. */
class Flood {
  readonly #daemon: DaemonProcess;
  readonly #agent = new Agent({ pipelining: 0 });
  readonly #running = new Set<Promise<void>>();
  readonly #refused: Refused[] = [];
  readonly #other: unknown[] = [];
  readonly #timer: NodeJS.Timeout;
  #answered = 0;

  constructor(daemon: DaemonProcess) {
    this.#daemon = daemon;
    const began = performance.now();
    let sent = 0;
    // Requests that a late timer missed are not sent: they would be a burst.
    this.#timer = setInterval(() => {
      const late = Math.floor(((performance.now() - began) * PER_SECOND) / 1000) - sent;
      const due = Math.min(late, 25, MOST_UNANSWERED - this.#running.size);
      for (let count = 0; count < due; count++) this.#send();
      sent = Math.floor(((performance.now() - began) * PER_SECOND) / 1000);
    }, 10);
  }

  #send(): void {
    const one = this.#publish().finally(() => this.#running.delete(one));
    this.#running.add(one);
  }

  async #publish(): Promise<void> {
    const sentAt = performance.now();
    try {
      const { statusCode, body } = await request(new URL("/v1/webhooks/events", this.#daemon.url), {
        dispatcher: this.#agent,
        method: "POST",
        headers: { authorization: `Bearer ${this.#daemon.key}`, "content-type": "application/json" },
        body: '{"type":"goal.achieved","data":{}}',
      });
      await body.dump();
      if (statusCode === 202) this.#answered++;
      else if (statusCode === 503) this.#refused.push({ sentAt, failedAt: performance.now() });
      else this.#other.push(statusCode);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ECONNREFUSED" || code === "ECONNRESET") this.#refused.push({ sentAt, failedAt: performance.now() });
      else this.#other.push(error);
    }
  }

  /** Resolves when this many more were answered with 202. */
  async answered(more: number): Promise<void> {
    const until = this.#answered + more;
    while (this.#answered < until) {
      if (this.#other.length > 0) throw new Error("a publish was answered otherwise", { cause: this.#other[0] });
      await wait(10);
    }
  }

  async end() {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
    await this.#agent.close();
    return { answered: this.#answered, refused: this.#refused, other: this.#other };
  }
}
