/** Forwards a request byte for byte to the program under development, and passes its response back. */
import type { LookupAddress } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { usage } from "../../failure.ts";
import type { Answer, Received } from "./server.ts";

/** webhookd itself waits this long. */
const TIMEOUT_MS = 10_000;
/** webhookd reads only part of a response of this size. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Headers that belong to this connection, or that the next connection sets itself. */
const OWN = new Set(["host", "connection", "keep-alive", "content-length", "transfer-encoding", "expect"]);

export interface Forwarded {
  readonly answer: Answer;
  /** The reason that there was no response, in which case 502 is sent back. Null if there was one. */
  readonly fault: string | null;
}

/** Matches `localhost:3000/hook`, which other tools accept. */
const WITHOUT_SCHEME = /^[^/?#]+:\d{1,5}(?:[/?]|$)/;

export function readForwardUrl(text: string): URL {
  const url = URL.parse(WITHOUT_SCHEME.test(text) ? `http://${text}` : text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  const message = `--forward-to must be an address such as http://127.0.0.1:3000/hook`;
  throw usage(message);
}

/** Passes redirects back instead of following them, because webhookd does not follow them either. */
export async function forward(url: URL, received: Received): Promise<Forwarded> {
  try {
    const response = await send(url, received);
    const type = response.headers["content-type"];
    const body = await beginningOf(response);
    return { answer: { status: response.statusCode!, body, ...(type !== undefined && { type }) }, fault: null };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { answer: { status: 502 }, fault: code ?? message };
  }
}

function send(url: URL, { method, rawHeaders, body }: Received): Promise<IncomingMessage> {
  const headers: Record<string, string> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (!OWN.has(name.toLowerCase())) headers[name] = rawHeaders[index + 1]!;
  }
  const lookup = url.hostname === "localhost" ? { lookup: lookUpLocalhost } : {};
  const options = { method, headers, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS), ...lookup } as const;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, options, resolve);
    request.once("error", reject);
    request.end(body);
  });
}

/** A program may listen on only one of the two addresses, and the system's look-up often returns only the other. */
const LOCALHOST: LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

const lookUpLocalhost: LookupFunction = (_hostname, { all }, callback) => {
  if (all === true) callback(null, LOCALHOST);
  else callback(null, LOCALHOST[0]!.address, LOCALHOST[0]!.family);
};

async function beginningOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES);
}
