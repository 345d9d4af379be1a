/** `T`, of which a test needs only some members, at any depth. */
type Partly<T> = T extends (...given: never[]) => unknown
  ? T
  : T extends readonly unknown[]
    ? T
    : T extends object
      ? { [Name in keyof T]?: Partly<T[Name]> | undefined }
      : T;

/**
 * Takes a part of an object for the whole. The types of its members are checked, which a cast would not do: a fake whose
 * method has another name than the real one is refused.
 */
export function partly<T>(part: Partly<T>): T {
  return part as T;
}
