/** What a receiver answers, read by llhttp: Node's own parser, as undici has compiled it for WebAssembly. */
import type { Outcome } from "../../domain/deliveries/attempt.ts";
// @ts-expect-error undici has no types for it. It is the compiled module, as a Buffer.
import compiled from "undici/lib/llhttp/llhttp-wasm.js";
import { Fault } from "./fault.ts";

export const MAX_BODY_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** A receiver that keeps sending what never becomes a header or a body is cut off here. */
const MAX_BYTES = 1024 * 1024;
const SUCCESS_KEPT_BYTES = 256;
/** RFC 9110 sets no limit. */
const MAX_INFORMATIONAL = 20;
const NO_BODY = new Uint8Array(0);

/** A receiver closes a connection when it has rested for so long less than it says in `keep-alive`: a request needs time. */
const ON_THE_WAY_MS = 2000;
/** How long a connection rests at most. */
export const IDLE_MS = 2000;
const KEEP_ALIVE_TIMEOUT = /(?:^|,)[\t ]*timeout=(\d+)/i;

/** One final answer: what has been read of it so far. */
export class Answer {
  /** A byte of an answer has come, if only of an informational one. */
  began = false;
  /** Null until the final header block is complete. */
  status: number | null = null;
  headers: Outcome["responseHeaders"] = {};
  /** Nothing of it is missing. */
  isComplete = false;
  /** How long its connection may rest afterwards; 0 if it must not be used again. */
  restMs = 0;
  /** How many bytes of its body came. */
  seen = 0;
  #kept: Uint8Array[] = [];

  get succeeded(): boolean {
    return this.status !== null && this.status < 300;
  }

  /** What is kept of its body, in one piece. */
  get body(): Uint8Array {
    if (this.#kept.length > 1) this.#kept = [new Uint8Array(Buffer.concat(this.#kept))];
    return this.#kept[0] ?? NO_BODY;
  }

  /** More of its body, of which `limit` bytes may be kept in all. */
  add(bytes: Uint8Array, from: number, to: number, limit: number): void {
    const end = Math.min(to, from + limit - this.seen);
    // A copy: what is read next comes into the same memory (a Buffer's own `slice` is none).
    if (end > from) this.#kept.push(Uint8Array.prototype.slice.call(bytes, from, end));
    this.seen += to - from;
  }
}

const LLHTTP_RESPONSE = 2;
const LLHTTP_PAUSED = 21;
const GO_ON = 0;
const HAS_NO_BODY = 1;
const STOP = -1;
/** Of its memory, for what it is to read next. */
const WINDOW_BYTES = 64 * 1024;

interface Llhttp {
  readonly memory: { readonly buffer: ArrayBuffer };
  malloc(bytes: number): number;
  llhttp_alloc(type: number): number;
  llhttp_reset(parser: number): void;
  llhttp_execute(parser: number, at: number, length: number): number;
  llhttp_get_error_pos(parser: number): number;
  llhttp_finish(parser: number): number;
}

/** As far as it is used here. Its types belong to those of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Llhttp };
};

/** The one instance of a thread, made with the first answer that needs it. */
let llhttp: Llhttp | null = null;
let windowAt = 0;
/** Its memory, which moves when it grows. */
let memory = Buffer.alloc(0);
/** Parsers that read nothing at present. */
const spare: number[] = [];
/** The reader that llhttp calls back. It calls nobody else's code, so there is only one at a time. */
let reading: AnswerReader;

function turnTo(reader: AnswerReader): void {
  reading = reader;
}

function startLlhttp(): Llhttp {
  const env = {
    wasm_on_url: () => GO_ON,
    wasm_on_status: () => GO_ON,
    wasm_on_message_begin: () => reading.onBegin(),
    wasm_on_header_field: (_parser: number, at: number, length: number) => reading.onName(at, length),
    wasm_on_header_value: (_parser: number, at: number, length: number) => reading.onValue(at, length),
    wasm_on_headers_complete: (_parser: number, status: number, upgrade: number, keepAlive: number) =>
      reading.onHeadersComplete(status, upgrade === 1, keepAlive === 1),
    wasm_on_body: (_parser: number, at: number, length: number) => reading.onBody(at, length),
    wasm_on_message_complete: () => reading.onMessageComplete(),
  };
  llhttp = new WebAssembly.Instance(new WebAssembly.Module(compiled as Buffer), { env }).exports;
  windowAt = llhttp.malloc(WINDOW_BYTES);
  return llhttp;
}

/** The headers that are read, by name; of those that are kept, the first value counts. */
const KEPT = new Set(["content-type", "retry-after", "server", "date", "location"]);
const FRAMING = new Set(["content-length", "transfer-encoding", "keep-alive"]);
const LONGEST_NAME = Math.max(...[...KEPT, ...FRAMING].map((name) => name.length));
const KEPT_CHARS = 256;

/** Reads one answer, piece by piece. What it needs of a piece it copies. */
export class AnswerReader {
  readonly answer = new Answer();
  /** Why it cannot be read any further. */
  fault: Fault | null = null;
  readonly #llhttp: Llhttp;
  #parser: number;
  readonly #keepsAll: boolean;
  #informational = 0;
  #bytes = 0;
  /** Of this header block, names and values alone; then of the trailers. */
  #headerBytes = 0;
  #name = "";
  #value = "";
  /** The next piece of a name begins a header. */
  #isValue = true;
  #kept: Record<string, string> = {};
  #framing: Record<string, string> = {};

  constructor(keepsAll: boolean) {
    this.#keepsAll = keepsAll;
    this.#llhttp = llhttp ?? startLlhttp();
    this.#parser = spare.pop() ?? this.#llhttp.llhttp_alloc(LLHTTP_RESPONSE);
    if (memory.buffer !== this.#llhttp.memory.buffer) memory = Buffer.from(this.#llhttp.memory.buffer);
  }

  /** Reads these bytes; the answer is how many of them were its own: fewer once it is complete, or cannot be read. */
  read(bytes: Buffer, length: number): number {
    for (let from = 0; from < length; from += WINDOW_BYTES) {
      const size = Math.min(WINDOW_BYTES, length - from);
      bytes.copy(memory, windowAt, from, from + size);
      turnTo(this);
      const result = this.#llhttp.llhttp_execute(this.#parser, windowAt, size);
      if (result === 0) continue;
      if (result !== LLHTTP_PAUSED) this.fault ??= new Fault("bad_response", "the answer is not HTTP");
      return from + this.#llhttp.llhttp_get_error_pos(this.#parser) - windowAt;
    }
    this.#bytes += length;
    if (this.#bytes > MAX_BYTES) this.#stop("bad_response", "the receiver sent more than 1 MiB");
    return length;
  }

  /** The receiver sends no more: that is the end of a body whose length it did not say. */
  finish(): void {
    if (this.answer.status === null || this.fault !== null) return;
    turnTo(this);
    this.#llhttp.llhttp_finish(this.#parser);
  }

  /** Gives its parser back. It must be called once, when nothing more is read. */
  close(): void {
    this.#llhttp.llhttp_reset(this.#parser);
    spare.push(this.#parser);
    this.#parser = 0;
  }

  onBegin(): number {
    this.answer.began = true;
    return GO_ON;
  }

  onName(at: number, length: number): number {
    if (this.#isValue) this.#endHeader();
    this.#isValue = false;
    if (this.#name.length <= LONGEST_NAME) this.#name += memory.toString("latin1", at, at + length);
    return this.#count(length);
  }

  onValue(at: number, length: number): number {
    if (!this.#isValue) this.#name = this.#name.toLowerCase();
    this.#isValue = true;
    if (KEPT.has(this.#name) || FRAMING.has(this.#name)) this.#value += memory.toString("latin1", at, at + length);
    return this.#count(length);
  }

  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number {
    this.#endHeader();
    this.#isValue = true;
    this.#headerBytes = 0;
    if (status < 100) return this.#stop("bad_response", "the answer is not HTTP");
    if (status === 100 || upgrade) return this.#stop("bad_response", "the answer does not match the request");
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) {
        const sentence = `the receiver sent more than ${MAX_INFORMATIONAL} informational responses`;
        return this.#stop("too_many_informational", sentence);
      }
      this.#kept = {};
      this.#framing = {};
      return HAS_NO_BODY;
    }
    this.answer.status = status;
    this.answer.headers = this.#kept;
    this.answer.restMs = keepAlive ? this.#restMs(status) : 0;
    return GO_ON;
  }

  onBody(at: number, length: number): number {
    const limit = this.answer.succeeded && !this.#keepsAll ? SUCCESS_KEPT_BYTES : MAX_BODY_BYTES;
    this.answer.add(memory, at, at + length, limit);
    return GO_ON;
  }

  onMessageComplete(): number {
    if (this.answer.status === null) return GO_ON;
    this.answer.isComplete = true;
    return LLHTTP_PAUSED;
  }

  #endHeader(): void {
    const name = this.#name;
    // Trailers are no headers.
    if (name !== "" && this.answer.status === null) {
      const value = this.#value;
      if (KEPT.has(name)) this.#kept[name] ??= value.length <= KEPT_CHARS ? value : value.slice(0, KEPT_CHARS);
      else if (FRAMING.has(name))
        this.#framing[name] = name in this.#framing ? `${this.#framing[name]},${value}` : value;
    }
    this.#name = this.#value = "";
  }

  #count(length: number): number {
    this.#headerBytes += length;
    if (this.#headerBytes < MAX_HEADER_BYTES) return GO_ON;
    return this.#stop("response_headers_too_large", "the response headers exceed 16 KiB");
  }

  #stop(error: "bad_response" | "response_headers_too_large" | "too_many_informational", sentence: string): number {
    this.fault = new Fault(error, sentence);
    return STOP;
  }

  #restMs(status: number): number {
    const { "content-length": length = "0", "transfer-encoding": coding, "keep-alive": keepAlive = "" } = this.#framing;
    // It has no body, but says how long its body is: what comes next may be that body.
    if ((status === 204 || status === 304) && (Number(length) !== 0 || coding !== undefined)) return 0;
    const timeout = KEEP_ALIVE_TIMEOUT.exec(keepAlive);
    if (timeout === null) return IDLE_MS;
    return Math.max(0, Math.min(IDLE_MS, Number(timeout[1]) * 1000 - ON_THE_WAY_MS));
  }
}

/**
 * The last answer that came in one piece and whole: many receivers say the same every time, and the same bytes mean the
 * same.
 */
export class LatestAnswer {
  #bytes: Buffer = Buffer.alloc(0);
  #answer: Answer | null = null;

  of(bytes: Buffer, length: number): Answer | null {
    const latest = this.#bytes;
    if (length !== latest.length || this.#answer === null) return null;
    return bytes.compare(latest, 0, length, 0, length) === 0 ? this.#answer : null;
  }

  set(bytes: Buffer, length: number, answer: Answer): void {
    if (length > LATEST_BYTES) return;
    this.#bytes = Buffer.from(bytes.subarray(0, length));
    this.#answer = answer;
  }
}

/** Longer answers are hardly ever the same. */
const LATEST_BYTES = 1024;
