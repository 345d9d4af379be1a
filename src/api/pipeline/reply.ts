/** What a route answers with. */
import type { Readable } from "node:stream";

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  readonly type: string;
  /** A stream goes on until it ends by itself, or the client is gone, which destroys it. */
  readonly body: string | Readable | null;
  readonly headers?: readonly Header[];
  /** False: nothing was changed, so an audited route leaves no entry. */
  readonly isAudited?: boolean;
}

export interface TextReply extends Reply {
  readonly body: string;
}

export function json(status: number, value: unknown, headers?: readonly Header[]): Reply {
  return jsonText(status, JSON.stringify(value), headers);
}

/** For answers that hold stored bytes, which a round trip through JSON.parse would change. */
export function jsonText(status: number, body: string, headers?: readonly Header[]): Reply {
  return { status, type: "application/json", body, headers };
}

export function word(status: number, text: string): Reply {
  return { status, type: "text/plain; charset=utf-8", body: text };
}

export const NO_CONTENT: Reply = { status: 204, type: "", body: null };
