/** Publishes over raw sockets, with prepared requests in which only numbers change. */
import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { Ledger, monotonic, type LedgerMemory } from "./ledger.ts";
import { ENVELOPE, publishText, SEQ_AT, seqsIn, writeDigits } from "./payload.ts";

/** A request that publishes one event, with the event's number as in `DATA`. */
export interface RequestShape {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface LoadPlan {
  readonly port: number;
  /** An API key, or null to post envelopes to a receiver, or the whole request for another tool. */
  readonly key: string | null | RequestShape;
  readonly connections: number;
  readonly eventsPerRequest: number;
  /** Event n goes to tenant n modulo this number. 0 names no tenant. */
  readonly tenants: number;
  /**
   * `window` is a closed loop with this many events that have not arrived. `perSecond` is an open loop, whatever
   * happens.
   */
  readonly pace: { readonly window: number } | { readonly perSecond: number };
}

export interface LoadData {
  readonly memory: LedgerMemory;
  readonly plan: LoadPlan;
}

interface Template {
  readonly bytes: Buffer;
  /** For each event of the request, the positions of its number and of its tenant's digits. */
  readonly slots: readonly { readonly seqAt: number; readonly tenantAt: number }[];
}

const TENANT_DIGITS = 4;
const TICK_MS = 1;
/** The daemon ends connections that were idle for 5 s, as each response says, so they are not used after this time. */
const IDLE_MS = 4000;

const { memory, plan } = workerData as LoadData;
const ledger = new Ledger(memory);
const template = templateOf(plan);

/** One connection with at most one request in flight. */
class Publisher {
  readonly #request = Buffer.from(template.bytes);
  #socket: Socket | null = null;
  #first = 0;
  #status = 0;
  #missing = 0;
  #head = "";
  #answeredAt = 0;
  busy = false;

  send(submittedAt: number): void {
    this.busy = true;
    // Other threads may publish to other processes, and take numbers too.
    this.#first = ledger.count("submitted", template.slots.length) + 1;
    template.slots.forEach(({ seqAt, tenantAt }, index) => {
      const seq = this.#first + index;
      writeDigits(this.#request, seqAt, seq);
      if (tenantAt > 0) writeDigits(this.#request, tenantAt, seq % plan.tenants, TENANT_DIGITS);
      ledger.submittedAt[seq] = submittedAt;
    });
    this.#open().write(this.#request);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    if (this.#socket !== null && monotonic() - this.#answeredAt < IDLE_MS) return this.#socket;
    this.#socket?.removeAllListeners("close").destroy();
    const socket = connect({ host: "127.0.0.1", port: plan.port, noDelay: true });
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#socket = null;
      if (!this.busy) return;
      ledger.count("broken", template.slots.length);
      this.#done();
    });
    this.#socket = socket;
    return socket;
  }

  #read(chunk: Buffer): void {
    if (this.#missing === 0) {
      this.#head += chunk.toString("latin1");
      const end = this.#head.indexOf("\r\n\r\n");
      if (end === -1) return;
      this.#status = Number(this.#head.slice(9, 12));
      const length = Number(/content-length: (\d+)/i.exec(this.#head)?.[1] ?? 0);
      this.#missing = length - (this.#head.length - end - 4);
      this.#head = "";
    } else {
      this.#missing -= chunk.length;
    }
    if (this.#missing === 0) this.#answered();
  }

  #answered(): void {
    const { length } = template.slots;
    if (this.#status >= 200 && this.#status < 300) {
      const now = monotonic();
      for (let seq = this.#first; seq < this.#first + length; seq++) ledger.ackedAt[seq] = now;
      ledger.count("acked", length);
    } else {
      ledger.count("refused", length);
    }
    this.#done();
  }

  #done(): void {
    this.busy = false;
    this.#answeredAt = monotonic();
    idle.push(this);
    pump();
  }
}

const publishers = Array.from({ length: plan.connections }, () => new Publisher());
const idle = [...publishers];
const startedAt = monotonic();
/** The number of events that earlier threads published to this site. */
const submittedBefore = ledger.get("submitted");
let stopping = false;

const timer = setInterval(pump, TICK_MS);
parentPort!.once("message", () => {
  stopping = true;
  pump();
});

function pump(): void {
  if (stopping) return end();
  for (let at = nextAt(); idle.length > 0 && at !== null; at = nextAt()) idle.pop()!.send(at);
}

/** Returns the time at which the next request is or was due. Null if it is not due yet. */
function nextAt(): number | null {
  const submitted = ledger.get("submitted");
  const now = monotonic();
  if ("perSecond" in plan.pace) {
    // Follow the timetable rather than the moment when a connection became free, so that a late response delays no due
    // time.
    const at = startedAt + ((submitted - submittedBefore) / plan.pace.perSecond) * 1000;
    return at <= now ? at : null;
  }
  const gone = ledger.get("arrived") + ledger.get("refused") + ledger.get("broken");
  return submitted - gone + plan.eventsPerRequest <= plan.pace.window ? now : null;
}

/** Resolves the other side's `stop` once everything that was sent has a response. */
function end(): void {
  if (publishers.some(({ busy }) => busy)) return;
  clearInterval(timer);
  for (const publisher of publishers) publisher.close();
  parentPort!.postMessage("stopped");
  parentPort!.close();
}

function templateOf(plan: LoadPlan): Template {
  const { path, headers, body } = requestOf(plan);
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ].join("\r\n");
  const bytes = Buffer.from(`${head}\r\n\r\n${body}`);
  const slots = seqsIn(bytes).map((seqAt) => {
    const tenantAt = plan.tenants > 0 ? bytes.lastIndexOf('"tenant":"t', seqAt) + '"tenant":"t'.length : 0;
    return { seqAt, tenantAt };
  });
  if (plan.key === null && slots[0]!.seqAt !== bytes.length - body.length + SEQ_AT)
    throw new Error("not where it is read");
  return { bytes, slots };
}

function requestOf({ key, eventsPerRequest: count, tenants }: LoadPlan): RequestShape {
  if (key === null) return { path: "/ok/ceiling", headers: {}, body: ENVELOPE.toString() };
  if (typeof key !== "string") return key;
  const event = publishText(tenants > 0);
  const body = count === 1 ? event : `{"events":[${Array.from({ length: count }, () => event).join(",")}]}`;
  const path = `/v1/webhooks/events${count === 1 ? "" : "/batch"}`;
  return { path, headers: { authorization: `Bearer ${key}` }, body };
}
