/** Writes words of a POSIX shell. */

/** Quotes a text, so that no character of it has a meaning to the shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Quotes a text only if it needs it. */
export function shellWord(text: string): string {
  return /^\w[\w.-]*$/.test(text) ? text : shellQuoted(text);
}
