/**
 * Reads the head of a response that llhttp refuses, to find its status. Some receivers have written such heads for
 * decades, with valid status lines, and refusing a 200 for such a fault would repeat the event for a day. Only the
 * faults below are forgiven. Such a response may end at an unclear place, so its connection carries no other request.
 */
import type { ResponseFault } from "../../domain/deliveries/attempt.ts";

export const MAX_HEAD_BYTES = 16 * 1024;

export type Header = readonly [name: string, value: string];

export interface MalformedHead {
  readonly status: number;
  /** The headers in order. Names are in lower case; values have one character for each byte. */
  readonly headers: readonly Header[];
  readonly faults: readonly ResponseFault[];
  /** The header that says where the body ends, if it is given once. "" if only the end of the connection shows it. */
  readonly framing: string;
}

/** The reason why a head is not forgiven. */
export class Unreadable {
  readonly reason: string;
  readonly isTooLong: boolean;

  constructor(reason: string, isTooLong = false) {
    this.reason = reason;
    this.isTooLong = isTooLong;
  }
}

const LF = 10;
const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: [^\r]*)?$/;
/** Names are RFC 9110 tokens. */
const HEADER = /^([!#$%&'*+\-.^_`|~\dA-Za-z]+)([\t ]*):([^]*)$/;
/** All control characters except HTAB. */
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Reads line by line, so that it makes no difference in which pieces a head arrives. */
export class MalformedHeadReader {
  #line = "";
  #bytes = 0;
  #status = 0;
  readonly #headers: [name: string, value: string][] = [];
  readonly #faults = new Set<ResponseFault>();
  #end: MalformedHead | Unreadable | null = null;

  /** True once its status line has arrived. */
  get began(): boolean {
    return this.#status !== 0;
  }

  /** The result; null while lines are missing. */
  get end(): MalformedHead | Unreadable | null {
    return this.#end;
  }

  /** Reads these bytes. Returns the position at which the head ended or was refused, or `to`. */
  read(bytes: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to && this.#end === null) {
      const lf = bytes.indexOf(LF, at);
      const lineEnd = lf === -1 || lf >= to ? to : lf + 1;
      const end = Math.min(lineEnd, at + MAX_HEAD_BYTES - this.#bytes);
      this.#line += bytes.toString("latin1", at, end);
      this.#bytes += end - at;
      at = end;
      if (this.#line.endsWith("\n")) this.#endLine();
      if (this.#end === null && this.#bytes === MAX_HEAD_BYTES)
        this.#end = new Unreadable("the response headers exceed 16 KiB", true);
    }
    return at;
  }

  #endLine(): void {
    const hasCr = this.#line.endsWith("\r\n");
    const line = this.#line.slice(0, hasCr ? -2 : -1);
    this.#line = "";
    // Empty lines before the status line are no fault.
    if (line === "" && this.#status === 0) {
      this.#bytes = 0;
      return;
    }
    if (!hasCr) this.#faults.add("bare_lf");
    if (this.#status === 0) this.#readStatusLine(line);
    else if (line === "") this.#end = this.#whole();
    else if (CONTROL.test(line)) this.#end = new Unreadable("a header has a control character");
    else if (line.startsWith(" ") || line.startsWith("\t")) this.#fold(line);
    else this.#readHeader(line);
  }

  #readStatusLine(line: string): void {
    const status = STATUS_LINE.exec(line)?.[1];
    if (status === undefined) this.#end = new Unreadable("its status line is not valid");
    else this.#status = Number(status);
  }

  #readHeader(line: string): void {
    const [, name, space, value] = HEADER.exec(line) ?? [];
    if (name === undefined) {
      this.#end = new Unreadable("a header line has no name and colon");
      return;
    }
    if (space !== "") this.#faults.add("space_before_colon");
    this.#headers.push([name.toLowerCase(), trimmed(value!)]);
  }

  #fold(line: string): void {
    const header = this.#headers.at(-1);
    if (header === undefined) {
      this.#end = new Unreadable("a space comes before the first header");
      return;
    }
    this.#faults.add("folded_header");
    header[1] = trimmed(`${header[1]} ${trimmed(line)}`);
  }

  #whole(): MalformedHead | Unreadable {
    const lengths = this.#of("content-length").flatMap((value) => value.split(",").map(trimmed));
    const coding = this.#of("transfer-encoding").join(", ");
    if (!lengths.every((length) => /^\d{1,15}$/.test(length))) return new Unreadable("Content-Length is not a number");
    if (new Set(lengths.map(Number)).size > 1) return new Unreadable("its Content-Length headers differ");
    if (lengths.length > 1) this.#faults.add("repeated_content_length");
    if (lengths.length > 0 && coding !== "") this.#faults.add("content_length_with_transfer_encoding");
    if (this.#faults.size === 0) return new Unreadable("a header is not valid");
    // `identity` means that there is no coding.
    const isCoded = coding !== "" && coding.toLowerCase() !== "identity";
    const length = lengths.length > 0 ? `content-length: ${lengths[0]}\r\n` : "";
    return {
      status: this.#status,
      headers: this.#headers,
      faults: [...this.#faults],
      framing: isCoded ? `transfer-encoding: ${coding}\r\n` : length,
    };
  }

  #of(name: string): string[] {
    return this.#headers.filter(([each]) => each === name).map(([, value]) => value);
  }
}

/** `trim` would take a byte of UTF-8 for a space. */
function trimmed(text: string): string {
  return text.replace(/^[\t ]+|[\t ]+$/g, "");
}
