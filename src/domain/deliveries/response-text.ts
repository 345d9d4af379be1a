/** A response body as text, for people: the bytes that are kept stay as they came. */

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
type Decoder = InstanceType<typeof TextDecoder>;

const CHARSET = /;[\t ]*charset[\t ]*=[\t ]*["']?([^"';\t ]+)/i;

/**
 * By the charset that its content-type declares, and without one as UTF-8; what does not fit comes as U+FFFD. Of a
 * compressed body only its size is told: its beginning would be noise, and to decompress what a stranger sent could fill
 * the memory.
 */
export function responseText(
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  isTruncated: boolean,
): string {
  if (body.length === 0) return "";
  const coding = headers["content-encoding"]?.trim() ?? "";
  if (coding !== "" && coding.toLowerCase() !== "identity")
    return `(compressed: ${coding}, ${isTruncated ? "more than " : ""}${body.length} bytes)`;
  return decoderOf(headers["content-type"] ?? "").decode(body);
}

/** The latest one: the responses of a list mostly are of one kind. */
let last = { charset: "utf-8", decoder: utf8 };

function decoderOf(type: string): Decoder {
  const charset = CHARSET.exec(type)?.[1]?.toLowerCase() ?? "utf-8";
  if (charset !== last.charset) last = { charset, decoder: newDecoder(charset) };
  return last.decoder;
}

function newDecoder(charset: string): Decoder {
  try {
    return new TextDecoder(charset, { ignoreBOM: true });
  } catch {
    return utf8;
  }
}
