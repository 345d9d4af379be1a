/** Verifies signatures in the formats of other senders. */
import { withoutSecrets } from "../../../src/config/inputs.ts";
import { loadSettings } from "../../../src/config/settings.ts";
import {
  FORMATS,
  type FurtherSignature,
  FurtherSigner,
  headerNames,
  shownName,
  type Signed,
  type SignatureFormat,
  timestampIn,
} from "../../../src/domain/endpoints/further-signature.ts";
import { usage } from "../../failure.ts";
import type { Io } from "../../io.ts";
import { say, sayJson } from "../../output/print.ts";
import type { Presented, Stamp } from "./near-miss.ts";

/** Returns the format with this name, or the custom one of the configuration whose header has it. */
export function formatOf(name: string, io: Io, config: string | undefined): SignatureFormat {
  if (Object.hasOwn(FORMATS, name)) return FORMATS[name as keyof typeof FORMATS];
  const custom = alsoIn(io, config).find((one) => headerNames(one).at(-1) === name.toLowerCase());
  if (custom !== undefined) return custom.format;
  const todo = `Use ${Object.keys(FORMATS).join(", ")}, or the header of a [[signature.also]] in the configuration.`;
  throw usage(`there is no format ${name}`, todo);
}

/**
 * Returns each `[[signature.also]]` with this format. Null if the configuration here has none at all, because the
 * daemon may have another one.
 */
export function configuredFormats(name: string, io: Io, config: string | undefined): FurtherSignature[] | null {
  const also = alsoIn(io, config);
  const isNamed = (one: FurtherSignature) => shownName(one).toLowerCase() === name.toLowerCase();
  return also.length === 0 ? null : also.filter(isNamed);
}

function alsoIn(io: Io, config: string | undefined): readonly FurtherSignature[] {
  return loadSettings(withoutSecrets(io.configInputs({ config }))).also;
}

/** Requires the flags for all that is signed and not in the header itself. */
export function checkStamp(name: string, format: SignatureFormat, signature: string, stamp: Stamp | null): void {
  const { signed, headers } = format;
  if (signed.includes("{url}")) throw usage(`${name} signs the URL, which this command does not know`);
  const needsTime = signed.includes("{timestamp}") && timestampIn(format, signature) === null;
  const hasTime = headers.some(([, value]) => value === "{timestamp}");
  if (needsTime && !hasTime) throw usage(`this is no ${headers.at(-1)![0]}`, "Copy the whole value of the header.");
  if (stamp === null && (needsTime || signed.includes("{id}"))) {
    throw usage(`${name} signs the id and the time as well`, "Add --id and --timestamp, from the request's headers.");
  }
}

export function signedOf({ body, standard }: Presented): Signed {
  return { id: standard?.id ?? "", timestamp: standard?.timestamp ?? 0, body, url: "" };
}

interface Said {
  readonly json?: boolean;
  readonly reasons: readonly string[];
}

export function sayOther(format: SignatureFormat, presented: Presented, { json, reasons }: Said, io: Io): void {
  const { secrets, signature } = presented;
  const timestamp = timestampIn(format, signature) ?? presented.standard?.timestamp ?? 0;
  const headers: string[] = [];
  new FurtherSigner(format, secrets.slice(0, 1)).sign(headers, { ...signedOf(presented), timestamp });
  const computed = headers.at(-1)!;
  if (json) return sayJson(io, { ok: false, reasons, faults: [], computed });
  say(io, "MISMATCH");
  for (const reason of reasons) say(io, `  ${reason}`);
  say(io, `  computed ${computed}`);
  say(io, "  the body was changed, the secret is another, or the signature has another format");
}
