/**
 * A long read in slices. Between two of them others have their turn: commits on the thread that writes, other callers in
 * the reader's.
 */

/** It yields nothing after a slice, or a piece that is wanted before the end. */
export type Reading<T, Piece = never> = Generator<Piece | undefined, T, void>;

interface Turns<Piece> {
  /** Runs a slice. */
  readonly read: <T>(slice: () => T) => T;
  /** Resolves in a later turn of the event loop. */
  readonly turn: () => Promise<void>;
  readonly onPiece?: (piece: Piece) => unknown;
}

/** Reads to the end on this thread. */
export async function readHere<T, Piece>(begin: () => Reading<T, Piece>, turns: Turns<Piece>): Promise<T> {
  const reading = turns.read(begin);
  for (;;) {
    const { done, value } = turns.read(() => reading.next());
    if (done === true) return value;
    if (value !== undefined) await turns.onPiece!(value);
    else await turns.turn();
  }
}
