/**
 * Parses strictly everything that came back on a connection: any byte that is not HTTP/1.1 is a fault of the server.
 */

export interface Response {
  readonly status: number;
  /** The code of a problem document. Null for any other response, or one without its body. */
  readonly code: string | null;
}

export interface Reading {
  readonly responses: readonly Response[];
  /** Describes the fault with its bytes. Null if there is none. */
  readonly fault: string | null;
}

const STATUS = /^HTTP\/1\.1 (\d{3}) [ -~]*$/;
const FIELD = /^([\w!#$%&'*+.^`|~-]+): ?([\t -~\x80-\xff]*)$/;

interface Head {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
}

/** `isCut` is true if the end may be missing, because we hung up or the connection was reset. */
export function readResponses(text: string, { hasHead, isCut }: { hasHead: boolean; isCut: boolean }): Reading {
  const responses: Response[] = [];
  let at = 0;
  const faulty = (why: string): Reading => ({
    responses,
    fault: `${why}: ${JSON.stringify(text.slice(at, at + 300))}`,
  });
  const unfinished = (what: string): Reading =>
    isCut ? { responses, fault: null } : faulty(`${what} is not complete`);
  while (at < text.length) {
    const end = text.indexOf("\r\n\r\n", at);
    if (end < 0) return unfinished("a head");
    const head = headOf(text.slice(at, end).split("\r\n"));
    if (typeof head === "string") return faulty(head);
    const { status, fields } = head;
    const bodyAt = end + 4;
    if (status < 200 || status === 204 || status === 304) {
      if (status === 101) return faulty("nothing here is ever upgraded");
      if (status >= 200) responses.push({ status, code: null });
      at = bodyAt;
      continue;
    }
    const isNext = bodyAt === text.length || text.startsWith("HTTP/1.1 ", bodyAt);
    const body = hasHead && isNext ? { text: null, end: bodyAt } : bodyOf(text, bodyAt, fields);
    if (body === null) return unfinished("a body");
    if (typeof body === "string") return faulty(body);
    const code =
      status >= 400 && body.text !== null && fields.has("x-request-id") ? codeOf(body.text, status, fields) : null;
    if (code === undefined) return faulty("an error is no problem document");
    responses.push({ status, code });
    at = body.end;
  }
  return { responses, fault: null };
}

function headOf([first = "", ...lines]: readonly string[]): Head | string {
  const status = STATUS.exec(first)?.[1];
  if (status === undefined) return "there is no status line";
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined) return `${JSON.stringify(line)} is no header`;
    if (fields.has(name.toLowerCase()) && /^(?:content-length|transfer-encoding)$/i.test(name))
      return `${name} is there twice`;
    fields.set(name.toLowerCase(), value!);
  }
  if (fields.has("content-length") && fields.has("transfer-encoding")) return "its body is framed in two ways";
  return { status: Number(status), fields };
}

/** Returns null if the body is incomplete. */
function bodyOf(
  text: string,
  at: number,
  fields: Head["fields"],
): { text: string | null; end: number } | string | null {
  const length = fields.get("content-length");
  if (length !== undefined) {
    if (!/^\d+$/.test(length)) return "its length is no number";
    const end = at + Number(length);
    return end > text.length ? null : { text: text.slice(at, end), end };
  }
  if (fields.get("transfer-encoding") === "chunked") return chunksOf(text, at);
  if (fields.get("connection")?.toLowerCase() !== "close") return "nothing says where its body ends";
  return { text: text.slice(at), end: text.length };
}

function chunksOf(text: string, from: number): { text: string; end: number } | string | null {
  let body = "";
  for (let at = from; ;) {
    const line = text.indexOf("\r\n", at);
    if (line < 0) return null;
    const size = text.slice(at, line);
    if (!/^[\da-f]+$/i.test(size)) return "a chunk has no size";
    const end = line + 2 + Number.parseInt(size, 16);
    if (end + 2 > text.length) return null;
    if (text.slice(end, end + 2) !== "\r\n") return "a chunk does not end where it says";
    if (end === line + 2) return { text: body, end: end + 2 };
    body += text.slice(line + 2, end);
    at = end + 2;
  }
}

/** Returns undefined if this is not a problem document of that status. */
function codeOf(body: string, status: number, fields: Head["fields"]): string | undefined {
  if (fields.get("content-type") !== "application/problem+json") return undefined;
  try {
    const problem = JSON.parse(body) as { status?: unknown; code?: unknown; request_id?: unknown };
    const isWhole = problem.status === status && problem.request_id === fields.get("x-request-id");
    return isWhole && typeof problem.code === "string" ? problem.code : undefined;
  } catch {
    return undefined;
  }
}
