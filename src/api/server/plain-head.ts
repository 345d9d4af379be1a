/** Recognises plain requests and parses their heads. A request with anything unusual is not plain. */

const MAX_HEAD_BYTES = 4096;
const FIRST_LINE = /^POST (([\w/-]+)(?:\?[\w.~=&-]*)?) HTTP\/1\.1\r\n/;
/**
 * Stricter than Node's parser: no folding, no empty values, no white space that another parser might trim, only ASCII.
 */
const HEADER = /([\w-]+): ([!-~](?:[\t -~]*[!-~])?)\r\n/y;
const CONNECTION = /^(?:keep-alive|close)$/i;
const LENGTH = /^[1-9]\d{0,5}$/;
/** Headers that change how a request is read or answered, or who may read the answer. */
const SPECIAL = new Set([
  "__proto__",
  "content-encoding",
  "expect",
  "http2-settings",
  "keep-alive",
  "origin",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The head of a request. Requests with the same head share the object, so it must not be changed. */
export class PlainHead {
  readonly bytes: Buffer;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values, alternating. */
  readonly rawHeaders: string[];
  readonly bodyBytes: number;
  /** True if no request follows on the connection. */
  readonly isLast: boolean;

  constructor(bytes: Buffer, url: string, headers: Readonly<Record<string, string>>, rawHeaders: string[]) {
    this.bytes = bytes;
    this.url = url;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.bodyBytes = Number(headers["content-length"]);
    this.isLast = headers.connection?.toLowerCase() === "close";
  }

  /** Parses the head that begins at `from`. Returns null if the request is not plain, or the head is incomplete. */
  static at(bytes: Buffer, from: number, paths: ReadonlySet<string>): PlainHead | null {
    const text = bytes.toString("latin1", from, from + MAX_HEAD_BYTES);
    const [firstLine, url, path] = FIRST_LINE.exec(text) ?? [];
    if (firstLine === undefined || !paths.has(path!)) return null;
    const headers: Record<string, string> = {};
    const rawHeaders: string[] = [];
    let at = firstLine.length;
    for (; !text.startsWith("\r\n", at); at = HEADER.lastIndex) {
      HEADER.lastIndex = at;
      const [, rawName, value] = HEADER.exec(text) ?? [];
      if (rawName === undefined) return null;
      const name = rawName.toLowerCase();
      // The rule for joining repeated headers depends on the name.
      if (Object.hasOwn(headers, name) || SPECIAL.has(name)) return null;
      headers[name] = value!;
      rawHeaders.push(rawName, value!);
    }
    const { host, connection = "keep-alive", "content-length": length = "" } = headers;
    if (host === undefined || !CONNECTION.test(connection) || !LENGTH.test(length)) return null;
    return new PlainHead(Buffer.from(bytes.subarray(from, from + at + 2)), url!, headers, rawHeaders);
  }
}
