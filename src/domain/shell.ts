/** Writes words of a POSIX shell. */

/**
 * Quotes a text, so that no character of it has a meaning to the shell, nor to the terminal that it is pasted into. A
 * text with control or invisible characters becomes `$'…'`, with the bytes of these in octal.
 */
export function shellQuoted(text: string): string {
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(new RegExp(UNSEEN, "gu"), octal);
  return `$'${escaped}'`;
}

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

function octal(char: string): string {
  const bytes = Array.from(new TextEncoder().encode(char));
  return bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/** Quotes a text only if it needs it. */
export function shellWord(text: string): string {
  return /^\w[\w.-]*$/.test(text) ? text : shellQuoted(text);
}
