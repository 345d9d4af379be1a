/** Publishes over raw sockets, with requests made beforehand in which only numbers change. */
import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { Ledger, monotonic, type LedgerMemory } from "./ledger.ts";
import { DIGITS, ENVELOPE, publishText, SEQ_AT, writeDigits } from "./payload.ts";

export interface LoadPlan {
  readonly port: number;
  /** An API key, or null to post envelopes to a receiver. */
  readonly key: string | null;
  readonly connections: number;
  readonly eventsPerRequest: number;
  /** Event n goes to tenant n modulo this; 0 names none. */
  readonly tenants: number;
  /** Closed loop: as many events outstanding (not arrived). Open loop: whatever happens, so many events a second. */
  readonly pace: { readonly window: number } | { readonly perSecond: number };
}

export interface LoadData {
  readonly memory: LedgerMemory;
  readonly plan: LoadPlan;
}

interface Template {
  readonly bytes: Buffer;
  /** For each event of the request, where its number and its tenant's digits stand. */
  readonly slots: readonly { readonly seqAt: number; readonly tenantAt: number }[];
}

const TENANT_DIGITS = 4;
const TICK_MS = 1;
/** The daemon ends connections that were idle for 5 s, as it says in each answer: by then they are not used again. */
const IDLE_MS = 4000;

const { memory, plan } = workerData as LoadData;
const ledger = new Ledger(memory);
const template = templateOf(plan);

/** One connection with at most one request under way. */
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
    this.#first = ledger.get("submitted") + 1;
    template.slots.forEach(({ seqAt, tenantAt }, index) => {
      const seq = this.#first + index;
      writeDigits(this.#request, seqAt, seq);
      if (tenantAt > 0) writeDigits(this.#request, tenantAt, seq % plan.tenants, TENANT_DIGITS);
      ledger.submittedAt[seq] = submittedAt;
    });
    ledger.count("submitted", template.slots.length);
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

/** When the next request is submitted, or was to be; null while it is not its time. */
function nextAt(): number | null {
  const submitted = ledger.get("submitted");
  const now = monotonic();
  if ("perSecond" in plan.pace) {
    // By the timetable, not by when a connection came free: a late answer delays what is counted, not the clock.
    const at = startedAt + (submitted / plan.pace.perSecond) * 1000;
    return at <= now ? at : null;
  }
  const gone = ledger.get("arrived") + ledger.get("refused") + ledger.get("broken");
  return submitted - gone + plan.eventsPerRequest <= plan.pace.window ? now : null;
}

/** Resolves the other side's `stop` once everything that was sent has its answer. */
function end(): void {
  if (publishers.some(({ busy }) => busy)) return;
  clearInterval(timer);
  for (const publisher of publishers) publisher.close();
  parentPort!.postMessage("stopped");
  parentPort!.close();
}

function templateOf({ key, eventsPerRequest: count, tenants }: LoadPlan): Template {
  const single = count === 1 || key === null;
  const event = key === null ? ENVELOPE.toString() : publishText(tenants > 0);
  const body = single ? event : `{"events":[${Array.from({ length: count }, () => event).join(",")}]}`;
  const path = key === null ? "/ok/ceiling" : `/v1/webhooks/events${single ? "" : "/batch"}`;
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    ...(key === null ? [] : [`authorization: Bearer ${key}`]),
    "content-type: application/json",
    `content-length: ${body.length}`,
  ].join("\r\n");
  const bytes = Buffer.from(`${head}\r\n\r\n${body}`);
  const slots: { seqAt: number; tenantAt: number }[] = [];
  for (let at = bytes.indexOf('"seq":"'); at !== -1; at = bytes.indexOf('"seq":"', at + DIGITS)) {
    const tenantAt = tenants > 0 ? bytes.lastIndexOf('"tenant":"t', at) + '"tenant":"t'.length : 0;
    slots.push({ seqAt: at + '"seq":"'.length, tenantAt });
  }
  if (key === null && slots[0]!.seqAt !== bytes.length - body.length + SEQ_AT) throw new Error("not where it is read");
  return { bytes, slots };
}
