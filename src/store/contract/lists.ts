/** What every list has in common: its pages, and how it is narrowed. */
import type { AttemptError } from "../../domain/deliveries/attempt.ts";

export interface Page<T> {
  readonly data: readonly T[];
  /** Opaque; null at the end of the list. A page may be short, even empty, while it is set. */
  readonly nextCursor: string | null;
}

export interface PageQuery {
  readonly tenant: string | null;
  readonly limit: number;
  readonly order: "newest" | "oldest";
  readonly cursor?: string;
}

/** When the event was received; `until` is exclusive. */
export interface Period {
  readonly since?: number;
  readonly until?: number;
}

/** One of several; one alone may stand for itself. */
export type OneOf<T> = T | readonly T[];

/** What an attempt came to. */
export interface ResultFilter {
  readonly error?: OneOf<AttemptError>;
  readonly statusCode?: StatusCodes;
}

/** Both ends included. */
export interface StatusCodes {
  readonly least: number;
  readonly most: number;
}
