/** Decodes a response body as text for people. The stored bytes stay as they arrived. */

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
type Decoder = InstanceType<typeof TextDecoder>;

const CHARSET = /;[\t ]*charset[\t ]*=[\t ]*["']?([^"';\t ]+)/i;

/**
 * Decodes by the charset of the content-type, or as UTF-8 if there is none. Invalid bytes become U+FFFD. Returns only
 * the size of a compressed body: its beginning would be noise, and decompressing a stranger's data could fill the
 * memory.
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

/** Reuse the latest decoder, because the responses of a list usually share a charset. */
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
