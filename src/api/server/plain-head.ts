/** Which requests are plain, and what they say before their bodies. Whatever is not known for certain is not plain. */

const MAX_HEAD_BYTES = 4096;
const FIRST_LINE = /^POST (([\w/-]+)(?:\?[\w.~=&-]*)?) HTTP\/1\.1\r\n/;
/** Less than what Node takes: no folding, no empty value, no white space that somebody may trim, ASCII alone. */
const HEADER = /([\w-]+): ([!-~](?:[\t -~]*[!-~])?)\r\n/y;
const CONNECTION = /^(?:keep-alive|close)$/i;
const LENGTH = /^[1-9]\d{0,5}$/;
/** They change how a request is read or answered, or who may read the answer. */
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

/** What a request says before its body. Requests with the same head share it: it is not to be changed. */
export class PlainHead {
  readonly bytes: Buffer;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values in turns. */
  readonly rawHeaders: string[];
  readonly bodyBytes: number;
  /** Nothing comes after it. */
  readonly isLast: boolean;

  constructor(bytes: Buffer, url: string, headers: Readonly<Record<string, string>>, rawHeaders: string[]) {
    this.bytes = bytes;
    this.url = url;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.bodyBytes = Number(headers["content-length"]);
    this.isLast = headers.connection?.toLowerCase() === "close";
  }

  /** Of the request that begins there; null for what is not plain, or not complete. */
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
      // How the values of two are joined depends on their name.
      if (Object.hasOwn(headers, name) || SPECIAL.has(name)) return null;
      headers[name] = value!;
      rawHeaders.push(rawName, value!);
    }
    const { host, connection = "keep-alive", "content-length": length = "" } = headers;
    if (host === undefined || !CONNECTION.test(connection) || !LENGTH.test(length)) return null;
    return new PlainHead(Buffer.from(bytes.subarray(from, from + at + 2)), url!, headers, rawHeaders);
  }
}
