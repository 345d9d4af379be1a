/** What the thread that writes and its reader say to each other. Each message has a `kind`. */
import { WebhookdError, type ErrorCode, type FieldError } from "../../../domain/errors.ts";
import { systemCode } from "../../files/refused.ts";
import type { NativeBinding } from "../engine/open-database.ts";
import type { Answer, Asked, Pieces, Question } from "./questions.ts";

export interface ReaderThreadData {
  readonly database: string;
  readonly nativeBinding: NativeBinding | undefined;
  /** What cursors are marked with. */
  readonly markKey: Uint8Array;
}

export type ToReader =
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly caller: string;
      readonly question: Question;
      readonly asked: Asked<Question>;
    }
  /** The piece was taken. */
  | { readonly kind: "more"; readonly id: number }
  /** Nobody waits for it any more. */
  | { readonly kind: "drop"; readonly id: number }
  /** Nothing is to be read until `go`; the answer is `resting`. */
  | { readonly kind: "rest" }
  | { readonly kind: "go" };

export type FromReader =
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer<Question> }
  | { readonly kind: "piece"; readonly id: number; readonly piece: Pieces[Question] }
  | { readonly kind: "error"; readonly id: number; readonly error: SentError }
  | { readonly kind: "resting" };

/** An error as a value: classes do not survive a message. */
export type SentError =
  | { readonly refused: ErrorCode; readonly detail: string; readonly errors: readonly FieldError[] }
  | { readonly name: string; readonly message: string; readonly code: string };

export function sentError(error: unknown): SentError {
  if (error instanceof WebhookdError) return { refused: error.code, detail: error.detail, errors: error.errors };
  const { name, message } = error instanceof Error ? error : { name: typeof error, message: "" };
  return { name, message, code: systemCode(error) };
}

export function receivedError(sent: SentError): Error {
  if ("refused" in sent) return new WebhookdError(sent.refused, sent.detail, { errors: sent.errors });
  const { name, message, code } = sent;
  return Object.assign(new Error(message), { name, code });
}
