/** Reads a receiver's response with llhttp, Node's own parser, in undici's WebAssembly build. */
import { isUtf8 } from "node:buffer";
import type { Outcome, ResponseFault } from "../../domain/deliveries/attempt.ts";
import { utf8Of } from "../../domain/utf8.ts";
// @ts-expect-error undici has no types for it. It is the compiled module, as a Buffer.
import compiled from "undici/lib/llhttp/llhttp-wasm.js";
import { Fault } from "./fault.ts";
import { MalformedHeadReader, MAX_HEAD_BYTES, Unreadable } from "./malformed-head.ts";

export const MAX_BODY_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** This limit cuts off a receiver that keeps sending bytes without ever completing a header or a body. */
const MAX_BYTES = 1024 * 1024;
const SUCCESS_KEPT_BYTES = 256;
/** RFC 9110 sets no limit. */
const MAX_INFORMATIONAL = 20;
const NO_BODY = new Uint8Array(0);

/**
 * A connection must not be used in the last two seconds that the receiver's `keep-alive` timeout allows, because a
 * request needs time to arrive.
 */
const ON_THE_WAY_MS = 2000;
/** The longest time that a connection stays idle. */
export const IDLE_MS = 2000;
const KEEP_ALIVE_TIMEOUT = /(?:^|,)[\t ]*timeout=(\d+)/i;

/** One final response, as far as it has been read. */
export class Answer {
  /** True once a byte has arrived, even if only of an informational response. */
  began = false;
  /** Null until the final header block is complete. */
  status: number | null = null;
  headers: Outcome["responseHeaders"] = {};
  /** Forgiven faults in its head, or in those of the informational responses before it. */
  faults: readonly ResponseFault[] = [];
  /** True once the whole response has arrived. */
  isComplete = false;
  /** Milliseconds for which its connection may stay idle afterwards. 0 if it must not be reused. */
  restMs = 0;
  seen = 0;
  #kept: Uint8Array[] = [];

  get succeeded(): boolean {
    return this.status !== null && this.status < 300;
  }

  /** The part of its body that is kept, in one piece. */
  get body(): Uint8Array {
    if (this.#kept.length > 1) this.#kept = [new Uint8Array(Buffer.concat(this.#kept))];
    return this.#kept[0] ?? NO_BODY;
  }

  /** Takes more of the body, of which at most `limit` bytes are kept in total. */
  add(bytes: Uint8Array, from: number, to: number, limit: number): void {
    const end = Math.min(to, from + limit - this.seen);
    // Copy the bytes, because the next read overwrites this memory. (A Buffer's own `slice` does not copy.)
    if (end > from) this.#kept.push(Uint8Array.prototype.slice.call(bytes, from, end));
    this.seen += to - from;
  }
}

const LLHTTP_RESPONSE = 2;
const LLHTTP_PAUSED = 21;
const GO_ON = 0;
const HAS_NO_BODY = 1;
const STOP = -1;
const NOT_HTTP = "the answer is not HTTP";
/** The part of llhttp's memory from which it reads. */
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

/** The part of WebAssembly used here. Its types come with those of browsers, which we do not load. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Llhttp };
};

/** One instance per thread, created for the first response that needs it. */
let llhttp: Llhttp | null = null;
let windowAt = 0;
/** The instance's memory, which moves when it grows. */
let memory = Buffer.alloc(0);
/** Parsers that are not in use. */
const spare: number[] = [];
/** The reader that llhttp calls back. A callback never runs other code, so there is only one at a time. */
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

/** The headers that are read, by name. If a kept one repeats, its first value counts. */
const KEPT = new Set(["content-type", "content-encoding", "retry-after", "server", "date", "location"]);
const FRAMING = new Set(["content-length", "transfer-encoding", "keep-alive"]);
const LONGEST_NAME = Math.max(...[...KEPT, ...FRAMING].map((name) => name.length));
const KEPT_BYTES = 256;

/** Reads one response, piece by piece. It copies what it needs of a piece. */
export class AnswerReader {
  readonly answer = new Answer();
  /** The reason that it cannot be read any further. */
  fault: Fault | null = null;
  readonly #llhttp: Llhttp;
  #parser: number;
  readonly #keepsAll: boolean;
  #informational = 0;
  #bytes = 0;
  /** The size of this header block, counting only names and values. Later, that of the trailers. */
  #headerBytes = 0;
  #name = "";
  #value = "";
  /** True if the next piece of a name begins a new header. */
  #isValue = true;
  #kept: Record<string, string> = {};
  #framing: Record<string, string> = {};
  /** This head as it arrived, up to the current piece. It is needed if llhttp refuses the head. */
  #head: Buffer[] = [];
  #headSize = 0;
  /** Continues where llhttp refused the head. */
  #malformed: MalformedHeadReader | null = null;
  #faults: readonly ResponseFault[] = [];
  /** True if an informational response said that the connection ends. */
  #closes = false;

  constructor(keepsAll: boolean) {
    this.#keepsAll = keepsAll;
    this.#llhttp = llhttp ?? startLlhttp();
    this.#parser = spare.pop() ?? this.#llhttp.llhttp_alloc(LLHTTP_RESPONSE);
    if (memory.buffer !== this.#llhttp.memory.buffer) memory = Buffer.from(this.#llhttp.memory.buffer);
  }

  /** Reads these bytes and returns how many belong to this response: fewer once it is complete or cannot be read. */
  read(bytes: Buffer, length: number): number {
    for (let at = 0; at < length && this.fault === null;) {
      const to = Math.min(length, at + WINDOW_BYTES);
      at = this.#malformed === null ? this.#readStrictly(bytes, at, to) : this.#readMalformed(bytes, at, to);
      if (this.answer.isComplete || this.fault !== null) return at;
    }
    this.#bytes += length;
    if (this.#bytes > MAX_BYTES) this.#stop("bad_response", "the receiver sent more than 1 MiB");
    return length;
  }

  #readStrictly(bytes: Buffer, from: number, to: number): number {
    bytes.copy(memory, windowAt, from, to);
    const result = this.#execute(to - from);
    if (result === 0) {
      if (this.answer.status === null) this.#keepHead(bytes, from, to);
      return to;
    }
    const end = from + this.#llhttp.llhttp_get_error_pos(this.#parser) - windowAt;
    if (result === LLHTTP_PAUSED) {
      if (!this.answer.isComplete) this.#beginHead();
    } else if (this.fault === null && this.answer.status === null) this.#forgive(bytes, from, end);
    else this.fault ??= new Fault("bad_response", NOT_HTTP);
    return end;
  }

  #execute(length: number): number {
    turnTo(this);
    return this.#llhttp.llhttp_execute(this.#parser, windowAt, length);
  }

  /** Reads the head again, leniently, after llhttp refused it at `end`. */
  #forgive(bytes: Buffer, from: number, end: number): void {
    this.#keepHead(bytes, from, end);
    const reader = (this.#malformed = new MalformedHeadReader());
    const isKept = this.#headSize <= MAX_HEAD_BYTES;
    for (const piece of isKept ? this.#head : []) reader.read(piece, 0, piece.length);
    if (reader.began) this.#judge(reader);
    else this.fault = new Fault("bad_response", NOT_HTTP);
  }

  #readMalformed(bytes: Buffer, from: number, to: number): number {
    const reader = this.#malformed!;
    const end = reader.read(bytes, from, to);
    this.#judge(reader);
    return end;
  }

  /** Once the head could be read, feeds llhttp a well-formed head in its place, so that it continues with the body. */
  #judge({ end: head }: MalformedHeadReader): void {
    if (head === null) return;
    if (head instanceof Unreadable) {
      this.fault = head.isTooLong
        ? new Fault("response_headers_too_large", head.reason)
        : new Fault("bad_response", `${NOT_HTTP}: ${head.reason}`);
      return;
    }
    this.#faults = [...new Set([...this.#faults, ...head.faults])];
    this.#beginHead();
    for (const [name, value] of head.headers) this.#keep(name, value);
    const length = memory.write(`HTTP/1.1 ${head.status} \r\n${head.framing}\r\n`, windowAt, "latin1");
    const result = this.#execute(length);
    if (result === LLHTTP_PAUSED && !this.answer.isComplete) this.#beginHead();
    else if (result !== 0 && result !== LLHTTP_PAUSED) this.fault ??= new Fault("bad_response", NOT_HTTP);
  }

  /** Prepares for another head. */
  #beginHead(): void {
    this.#llhttp.llhttp_reset(this.#parser);
    this.#malformed = null;
    this.#head = [];
    this.#headSize = this.#headerBytes = 0;
    this.#name = this.#value = "";
    this.#isValue = true;
    this.#kept = {};
    this.#framing = {};
  }

  #keepHead(bytes: Buffer, from: number, to: number): void {
    this.#headSize += to - from;
    if (this.#headSize <= MAX_HEAD_BYTES) this.#head.push(Buffer.from(bytes.subarray(from, to)));
    else this.#head = [];
  }

  /** The receiver will send no more, which ends a body whose length was not stated. */
  finish(): void {
    if (this.answer.status === null || this.fault !== null) return;
    turnTo(this);
    this.#llhttp.llhttp_finish(this.#parser);
  }

  /** Returns its parser to the spare ones. It must be called once, when nothing more is read. */
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
    if (status < 100) return this.#stop("bad_response", NOT_HTTP);
    if (status === 101 || upgrade) return this.#stop("bad_response", "the answer does not match the request");
    // Nobody asked for a 100, but a client must be able to read it and every other informational response (RFC 9110,
    // section 15.2).
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) {
        const sentence = `the receiver sent more than ${MAX_INFORMATIONAL} informational responses`;
        return this.#stop("too_many_informational", sentence);
      }
      this.#closes ||= !keepAlive;
      return HAS_NO_BODY;
    }
    this.#head = [];
    this.answer.status = status;
    this.answer.headers = this.#kept;
    this.answer.faults = this.#faults;
    this.answer.restMs = keepAlive && !this.#closes && this.#faults.length === 0 ? this.#restMs(status) : 0;
    return GO_ON;
  }

  onBody(at: number, length: number): number {
    const limit = this.answer.succeeded && !this.#keepsAll ? SUCCESS_KEPT_BYTES : MAX_BODY_BYTES;
    this.answer.add(memory, at, at + length, limit);
    return GO_ON;
  }

  onMessageComplete(): number {
    if (this.answer.status !== null) this.answer.isComplete = true;
    // Stop here even after an informational response, because another head follows it.
    return LLHTTP_PAUSED;
  }

  #endHeader(): void {
    const name = this.#name;
    // Trailers do not count as headers.
    if (name !== "" && this.answer.status === null) this.#keep(name, this.#value);
    this.#name = this.#value = "";
  }

  #keep(name: string, value: string): void {
    if (KEPT.has(name)) this.#kept[name] ??= headerText(value);
    else if (FRAMING.has(name)) this.#framing[name] = name in this.#framing ? `${this.#framing[name]},${value}` : value;
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
    // Such a response has no body. If it states a length anyway, what comes next may be that body.
    if ((status === 204 || status === 304) && (Number(length) !== 0 || coding !== undefined)) return 0;
    const timeout = KEEP_ALIVE_TIMEOUT.exec(keepAlive);
    if (timeout === null) return IDLE_MS;
    return Math.max(0, Math.min(IDLE_MS, Number(timeout[1]) * 1000 - ON_THE_WAY_MS));
  }
}

const NOT_ASCII = /[^\x00-\x7f]/;

/**
 * Decodes a header value, given as one character for each byte. Most servers write UTF-8, although the standard allows
 * only ASCII.
 */
function headerText(bytes: string): string {
  const kept = bytes.length <= KEPT_BYTES ? bytes : bytes.slice(0, KEPT_BYTES);
  if (!NOT_ASCII.test(kept)) return kept;
  // Do not cut in the middle of a character.
  const whole = Buffer.from(kept === bytes ? kept : kept.replace(/[\xc0-\xff][\x80-\xbf]*$/, ""), "latin1");
  return isUtf8(whole) ? utf8Of(whole) : kept;
}

/**
 * Remembers the last response that arrived in one piece. Many receivers send the same bytes every time, so that no
 * parsing is needed.
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

/** Longer responses hardly ever repeat exactly. */
const LATEST_BYTES = 1024;
