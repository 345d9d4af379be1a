/**
 * Request bodies as raw bytes, from Node's own stream: h3's `arrayBuffer()` goes through web streams at five times the
 * cost, and its limits act only on top of that.
 */
import type { IncomingMessage } from "node:http";
import { WebhookdError } from "../../domain/errors.ts";

/** The client went away before its request was complete: nobody is left to answer, nothing may be stored. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** Whether it has a body for all that its headers say: one that comes in chunks may turn out to be empty. */
export function mayHaveBody(req: IncomingMessage): boolean {
  return req.headers["transfer-encoding"] !== undefined || hasDeclaredBody(req);
}

export function hasDeclaredBody(req: IncomingMessage): boolean {
  return Number(req.headers["content-length"] ?? 0) > 0;
}

const JSON_ALONE = ["application/json"];

/**
 * The media type, in lower case, if it is one of `known`, in UTF-8 and not encoded: a form or plain text could be sent
 * by any web page without a preflight.
 */
export function mediaTypeOf(req: IncomingMessage, known: readonly string[] = JSON_ALONE): string {
  const { "content-type": given = "", "content-encoding": encoding } = req.headers;
  if (encoding === undefined && known.includes(given)) return given;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new WebhookdError("unsupported_media_type", "send the body without a content-encoding", {
      errors: [{ pointer: "", code: "unsupported_content_encoding", detail: "compressed bodies are not read" }],
    });
  }
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset\s*=/i.test(parameter));
  const utf8 = charset === undefined || /^charset="?utf-8"?$/i.test(charset);
  if (known.includes(type.toLowerCase()) && utf8) return type.toLowerCase();
  throw new WebhookdError("unsupported_media_type", `send JSON in UTF-8, with content-type: ${known.join(" or ")}`);
}

/**
 * All of the body, or `payload_too_large` as soon as it is known to exceed `maxBytes`. `hold` hears of the bytes
 * before they are kept or refused, first of those that were declared, and may throw.
 */
export function readBody(req: IncomingMessage, maxBytes: number, hold?: (bytes: number) => void): Promise<Buffer> {
  const declared = Number(req.headers["content-length"] ?? 0);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: unknown) => {
      req.off("data", take);
      // What still comes is thrown away, so that the connection can be used again; the 30 s of a request still hold.
      req.resume();
      reject(error);
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > declared) hold?.(chunk.length);
        if (size > maxBytes) throw tooLarge(maxBytes);
        chunks.push(chunk);
      } catch (error) {
        refuse(error);
      }
    };
    // The client may have gone while its key was looked up; then no event would ever follow.
    if (req.destroyed) return reject(new ClientGone());
    // An error of the request is followed by its close. Emitted for every request, and an error is dear to make.
    req.on("close", () => req.readableEnded || reject(new ClientGone()));
    req.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    try {
      if (declared > maxBytes) throw tooLarge(maxBytes);
      hold?.(declared);
    } catch (error) {
      return refuse(error);
    }
    req.on("data", take);
  });
}

function tooLarge(maxBytes: number): WebhookdError {
  return new WebhookdError("payload_too_large", `the body is larger than ${maxBytes} bytes`);
}

/**
 * Back-pressure for publishes: how many requests, and how many bytes of them, may wait for their commit. What is over
 * is refused at once with 503, so that a burst costs the publisher a retry and not the daemon its memory.
 */
export class Intake {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  #requests = 0;
  #bytes = 0;

  constructor(maxRequests: number, maxBytes: number) {
    this.#maxRequests = maxRequests;
    this.#maxBytes = maxBytes;
  }

  /** Throws `overloaded`; else the ticket must be given back with `leave`. */
  enter(): Ticket {
    if (this.#requests >= this.#maxRequests) throw overloaded("too many publish requests are waiting for their commit");
    this.#requests += 1;
    let held = 0;
    return {
      hold: (bytes) => {
        if (this.#bytes + bytes > this.#maxBytes)
          throw overloaded("too many published bytes are waiting for their commit");
        this.#bytes += bytes;
        held += bytes;
      },
      leave: () => {
        this.#requests -= 1;
        this.#bytes -= held;
        held = 0;
      },
    };
  }
}

export interface Ticket {
  /** Counts bytes that came in; throws `overloaded` when they do not fit. */
  hold(bytes: number): void;
  leave(): void;
}

function overloaded(detail: string): WebhookdError {
  return new WebhookdError("overloaded", detail, { retryAfterSeconds: 1 });
}
